import { ConnectError, type OpenSession } from "./mcp-session.ts";

const GIVEN_UP = { permanent: false };

export interface StartPace {
  /** Processes that may be starting at the same time. */
  readonly atOnce: number;
  /** How long a start counts at most, in milliseconds, so that servers that hang do not keep others waiting. */
  readonly holdMs: number;
}

/**
 * Opens the sessions of servers that are processes few at a time. A hundred that start at the same moment
 * keep each other, and this process, from answering for many seconds; one after the other they are there sooner.
 * The wait is not a part of `connectTimeoutMs`.
 */
export function paceStarts(open: OpenSession, { atOnce, holdMs }: StartPace): OpenSession {
  const waiting = new Set<() => void>();
  let free = atOnce;

  /** Resolves with what gives the place back; rejects when the signal aborts first. */
  function place(signal: AbortSignal): Promise<() => void> {
    const turn = Promise.withResolvers<() => void>();
    const begin = (): void => {
      signal.removeEventListener("abort", leave);
      turn.resolve(held());
    };
    const leave = (): void => {
      waiting.delete(begin);
      turn.reject(new ConnectError("given up before its process was started", GIVEN_UP));
    };
    if (signal.aborted) leave();
    else if (free > 0) begin();
    else {
      waiting.add(begin);
      signal.addEventListener("abort", leave, { once: true });
    }
    return turn.promise;
  }

  function held(): () => void {
    free -= 1;
    let isOver = false;
    const giveBack = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      free += 1;
      const [next] = waiting;
      if (next === undefined) return;
      waiting.delete(next);
      next();
    };
    const timer = setTimeout(giveBack, holdMs);
    return giveBack;
  }

  return async (config, events, signal) => {
    if (config.transport !== "stdio") return open(config, events, signal);
    const giveBack = await place(signal);
    try {
      return await open(config, events, signal);
    } finally {
      giveBack();
    }
  };
}
