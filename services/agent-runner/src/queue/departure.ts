import { HandOver, Suspended } from "../core/interruption.ts";
import { isOutage } from "../context/service-clients.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { FenceLost } from "../journal/run-store.ts";
import { StoreError } from "@switchyard/service/store-error";

/** The reason why a runner releases a run before its end. */
export type Departure =
  /** The run is another runner's; neither the run nor its message may be touched. */
  | "lost"
  /** The holder of the run could not be determined for too long; if it is still this runner, it releases the run. */
  | "cut-off"
  /** This runner stops; the run continues elsewhere at once. */
  | "handed-over"
  /** Something the run needs is down; the run comes again after a pause. */
  | "suspended"
  /** The journal cannot be read; trying again cannot help. */
  | "corrupt"
  /** A fault of this program; the attempt counts against the run. */
  | "faulted";

/** Reads the reason from the error, given whether the delivery was taken away and whether this runner stops. */
export function departureOf(
  error: unknown,
  facts: {
    readonly isLost: boolean;
    readonly isDeliveryAborted: boolean;
    readonly isStopping: boolean;
  },
): Departure {
  if (error instanceof FenceLost || facts.isLost) return "lost";
  if (error instanceof JournalCorrupt) return "corrupt";
  if (facts.isStopping && (error instanceof HandOver || isInterruption(error, facts)))
    return "handed-over";
  if (facts.isDeliveryAborted) return "cut-off";
  if (error instanceof Suspended || error instanceof StoreError || isOutage(error))
    return "suspended";
  return "faulted";
}

/** A stop cuts pauses short and, at its deadline, the work itself; both end in an abort error. */
function isInterruption(
  error: unknown,
  { isDeliveryAborted }: { readonly isDeliveryAborted: boolean },
): boolean {
  return isDeliveryAborted || (error instanceof Error && error.name === "AbortError");
}
