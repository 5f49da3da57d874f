import { setTimeout as pause } from "node:timers/promises";
import { ServiceError } from "@switchyard/contracts/errors";

/**
 * Renews periodically until the signal aborts; never rejects. A failure is reported once and retried sooner; resolves with the
 * first error that no retry can fix.
 */
export async function renewWhile(options: {
  readonly renew: () => Promise<unknown>;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  /** Null when renewing works again. */
  readonly onTrouble: (error: ServiceError | null) => void;
}): Promise<unknown> {
  const { renew, everyMs, signal, onTrouble } = options;
  let isFailing = false;
  for (;;) {
    const waitMs = isFailing ? Math.min(everyMs, RETRY_MS) : everyMs;
    await pause(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return null;
    try {
      await renew();
      if (isFailing) onTrouble(null);
      isFailing = false;
    } catch (error) {
      if (!isPassing(error)) return error;
      if (!isFailing) onTrouble(error);
      isFailing = true;
    }
  }
}

const RETRY_MS = 5_000;

/** A time-out may have renewed it, and renewing twice is no harm. */
function isPassing(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (error.retryable || error.code === "timeout");
}
