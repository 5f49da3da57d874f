import { createCallQueue } from "../limits/call-queue.ts";
import { ConnectError, type OpenSession } from "./mcp-session.ts";

export interface StartPace {
  /** Processes that may be starting at the same time. */
  readonly atOnce: number;
  /** The longest time that a start counts, in milliseconds, so that servers that hang do not keep others waiting. */
  readonly holdMs: number;
}

/** Only the signal ends the wait; Node fires a longer timer at once. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/**
 * Opens the sessions of servers that are processes few at a time. A hundred that start at the same moment
 * keep each other, and this process, from answering for many seconds; one after the other they are there sooner.
 * The wait is not a part of `connectTimeoutMs`.
 */
export function paceStarts(open: OpenSession, { atOnce, holdMs }: StartPace): OpenSession {
  const starts = createCallQueue({ maxConcurrency: atOnce, queueLimit: Infinity });
  return async (config, events, signal) => {
    if (config.transport !== "stdio") return open(config, events, signal);
    await starts.enter({ timeoutMs: LONGEST_WAIT_MS, signal }).catch((cause: unknown) => {
      const text = "given up before its process was started";
      throw new ConnectError(text, { permanent: false, cause });
    });
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) starts.leave();
      isHeld = false;
      clearTimeout(timer);
    };
    const timer = setTimeout(leave, holdMs);
    try {
      return await open(config, events, signal);
    } finally {
      leave();
    }
  };
}
