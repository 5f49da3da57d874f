import type { ServerInterceptor } from "@switchyard/bus/interceptor";
import { ServiceError } from "@switchyard/contracts/errors";
import { StoreError } from "./store-error.ts";

/**
 * While Redis is unavailable, contracts that declare `store_unavailable` reply with it instead of a fault. Services whose
 * replies need Redis put this interceptor around their handlers.
 */
export const answersFromStore: ServerInterceptor = (next) => async (call) => {
  try {
    return await next(call);
  } catch (error) {
    throw error instanceof StoreError ? unavailable(call.contract, error) : error;
  }
};

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
