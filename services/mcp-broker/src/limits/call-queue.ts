export type CallQueue = ReturnType<typeof createCallQueue>;

export interface QueueWait {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class QueueFullError extends Error {
  override readonly name = "QueueFullError";
}

export class QueueWaitError extends Error {
  override readonly name = "QueueWaitError";
}

/** Returns the message to the caller: why its call was not begun, and the remedy. */
export function notBegun(
  server: string,
  { inFlight, queued }: Pick<CallQueue, "inFlight" | "queued">,
  error: QueueFullError | QueueWaitError,
): string {
  // The time ran out although the server has nothing to do.
  if (error instanceof QueueWaitError && inFlight + queued === 0)
    return `The call's time ran out before it could be sent to MCP server ${server}; it was not made. Give it more time and make it again.`;
  return `MCP server ${server} has ${inFlight} calls in work and ${queued} waiting, and ${error.message}; the call was not made. Try again later.`;
}

/**
 * Bounds the calls that one server works on at a time, and the calls that wait for it. First come,
 * first served. The limits are read each time that they count: they may change while calls are in work.
 */
export function createCallQueue(limits: {
  readonly maxConcurrency: number;
  readonly queueLimit: number;
}) {
  const waiting = new Set<() => void>();
  let inFlight = 0;

  /** Calls that already wait come first, so that no later call overtakes the queue. */
  const admit = (): void => {
    for (const next of waiting) {
      if (inFlight >= limits.maxConcurrency) return;
      waiting.delete(next);
      inFlight += 1;
      next();
    }
  };
  const waitForSlot = ({ timeoutMs, signal }: QueueWait): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      };
      const start = (): void => {
        settle();
        resolve();
      };
      const giveUp = (): void => {
        settle();
        waiting.delete(start);
        reject(new QueueWaitError("the time ran out before a place was free"));
      };
      const timer = setTimeout(giveUp, timeoutMs);
      waiting.add(start);
      signal.addEventListener("abort", giveUp, { once: true });
    });

  return {
    get inFlight(): number {
      return inFlight;
    },
    get queued(): number {
      return waiting.size;
    },
    /** The limits have changed: calls that get a slot by the change begin. */
    limitsChanged: admit,
    /**
     * Waits for a free slot, which its holder leaves. Rejects with QueueFullError at once when too many wait already, and with
     * QueueWaitError when the time is over or the signal aborts before.
     */
    async enter(wait: QueueWait): Promise<void> {
      if (wait.signal.aborted || wait.timeoutMs <= 0)
        throw new QueueWaitError("the time had run out");
      if (inFlight < limits.maxConcurrency) inFlight += 1;
      else if (waiting.size < limits.queueLimit) await waitForSlot(wait);
      else throw new QueueFullError("no more may wait");
    },
    leave(): void {
      inFlight -= 1;
      admit();
    },
  };
}
