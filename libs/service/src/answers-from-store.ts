import type { Service } from "@switchyard/bus/serve";
import { ServiceError } from "@switchyard/contracts/errors";
import { StoreError } from "./store-error.ts";

/**
 * A service that needs Redis for its answers. While that is away, contracts that declare `store_unavailable` are answered with it, and
 * not with a fault.
 */
export function answersFromStore(service: Service): Service {
  return {
    drain: () => service.drain(),
    handle: (contract, handler, at) =>
      service.handle(
        contract,
        async (request, context) => {
          try {
            return await handler(request, context);
          } catch (error) {
            throw error instanceof StoreError ? unavailable(contract, error) : error;
          }
        },
        at,
      ),
  };
}

function unavailable(
  { name, errors }: { readonly name: string; readonly errors: object },
  error: StoreError,
): Error {
  if (!("store_unavailable" in errors)) return error;
  const message = `${name} cannot be carried out now, try again later: ${error.message}`;
  return new ServiceError("store_unavailable", message, {
    data: { cause: error.message },
    cause: error,
  });
}
