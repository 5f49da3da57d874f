import type { Service } from "@switchyard/bus/serve";
import { ServiceError } from "@switchyard/contracts/errors";

/** What Redis answers when it is up and takes nothing now; its other error replies are faults of ours. */
const BUSY_REPLY =
  /^(?:OOM|READONLY|LOADING|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY)\b/;
/** ioredis gives these no class of their own. */
const CLIENT_SAYS =
  /^(?:Connection is closed|Stream isn't writeable|Command timed out|Reached the max retries per request limit)/;
const SOCKET_CODE = /^E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|AI_AGAIN)$/;

/** True for a failure of the way to Redis, or of a Redis that takes nothing now. */
export function isStoreOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "MaxRetriesPerRequestError") return true;
  if ("code" in error && typeof error.code === "string" && SOCKET_CODE.test(error.code))
    return true;
  return BUSY_REPLY.test(error.message) || CLIENT_SAYS.test(error.message);
}

/**
 * The service, with an outage of Redis reported as `store_unavailable`, which every contract of the
 * importer declares. Nothing was changed that the same call does not complete.
 */
export function reportingStoreOutages(service: Pick<Service, "handle">): Pick<Service, "handle"> {
  return {
    handle: (contract, handler, at) =>
      service.handle(
        contract,
        async (request, context) => {
          try {
            return await handler(request, context);
          } catch (error) {
            if (!isStoreOutage(error) || !("store_unavailable" in contract.errors)) throw error;
            throw unavailable(error);
          }
        },
        at,
      ),
  };
}

function unavailable(error: unknown): ServiceError {
  const cause = error instanceof Error ? error.message : String(error);
  const message = `the importer cannot ask Redis (${cause}); try again when it is up: nothing is half done`;
  return new ServiceError("store_unavailable", message, {
    data: { cause },
    retryable: true,
    cause: error,
  });
}
