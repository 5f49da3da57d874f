import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";

export type CallClock = ReturnType<typeof createCallClock>;

export interface CallLimits {
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** The time that a server may take for one request. It pauses while a person answers a question. */
export function createCallClock() {
  const ended = new AbortController();
  let leftMs = 0;
  let countedFrom = 0;
  let timer: NodeJS.Timeout | null = null;
  let isRunning = false;
  let isOver = false;
  let pauses = 0;
  let outer: AbortSignal | null = null;
  const forward = (): void => ended.abort(outer?.reason);

  const count = (): void => {
    countedFrom = performance.now();
    timer = setTimeout(() => {
      isOver = true;
      // The error that the protocol layer would reject with if its own time had ended.
      ended.abort(new SdkError(SdkErrorCode.RequestTimeout, "Request timed out"));
    }, leftMs);
  };
  const hold = (): void => {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    leftMs = Math.max(0, leftMs - (performance.now() - countedFrom));
  };

  return {
    /** True when the time has expired. */
    get isOver(): boolean {
      return isOver;
    },
    /** Stops the time until the returned function is called; several pauses may overlap. */
    pause(): () => void {
      pauses += 1;
      hold();
      let isPaused = true;
      return () => {
        if (!isPaused) return;
        isPaused = false;
        pauses -= 1;
        if (pauses === 0 && isRunning) count();
      };
    },
    /** Starts the clock. The signal aborts when the time is used up, or with the one that is given. */
    start({ limitMs, signal }: CallLimits): AbortSignal {
      outer = signal;
      if (signal.aborted) forward();
      else signal.addEventListener("abort", forward, { once: true });
      isRunning = true;
      leftMs = limitMs;
      if (pauses === 0) count();
      return ended.signal;
    },
    /** To be called when the request is over. */
    stop(): void {
      isRunning = false;
      hold();
      outer?.removeEventListener("abort", forward);
    },
  };
}
