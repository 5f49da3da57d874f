import { isOutage } from "./service-clients.ts";
import { Suspended } from "../core/interruption.ts";

/** Calls a service; when the service is down the run is suspended and comes again after a pause. */
export async function suspendOnOutage<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    if (!isOutage(error)) throw error;
    throw new Suspended("a service that the run needs is down", { cause: error });
  }
}
