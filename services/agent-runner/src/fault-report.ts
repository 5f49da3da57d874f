import type { Log } from "@switchyard/service/log";
import { StoreError } from "@switchyard/service/store-error";
import { isOutage } from "./context/service-clients.ts";

/** Logs the failure of a handler or of the queue: an outage ends by itself, anything else is a fault. */
export function reportFaultTo(log: Log): (fault: { readonly error: unknown }) => void {
  return ({ error, ...where }) => {
    if (isOutage(error) || error instanceof StoreError) {
      log.warn({ err: error, ...where }, "dependency unavailable");
    } else {
      log.error({ err: error, ...where }, "fault");
    }
  };
}
