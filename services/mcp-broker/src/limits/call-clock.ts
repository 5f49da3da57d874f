import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";

/** The time that a server may take for a request. It stands still while a person is asked something. */
export interface CallClock {
  /** True when the time was used up. */
  readonly isOver: boolean;
  /** Stops the time until the returned function is called; several pauses may overlap. */
  pause(): () => void;
  /** Begins to count. The signal aborts when the time is used up, or with the one that is given. */
  start(limits: CallLimits): AbortSignal;
  /** To be called when the request is over. */
  stop(): void;
}

export interface CallLimits {
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** A clock for one request; it begins to count with `start`. */
export function createCallClock(): CallClock {
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
      // What the protocol layer rejects with, as if its own time had ended.
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
    get isOver() {
      return isOver;
    },
    pause() {
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
    start({ limitMs, signal }) {
      outer = signal;
      if (signal.aborted) forward();
      else signal.addEventListener("abort", forward, { once: true });
      isRunning = true;
      leftMs = limitMs;
      if (pauses === 0) count();
      return ended.signal;
    },
    stop() {
      isRunning = false;
      hold();
      outer?.removeEventListener("abort", forward);
    },
  };
}
