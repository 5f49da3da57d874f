import { spawn } from "node:child_process";
import { fstatSync } from "node:fs";
import { EXIT, type ExitCode } from "./exit-codes.ts";

/** The reason why a command stopped following before the end. */
export type StopReason = "interrupted" | "closed" | "timeout";

/** The stop of a command that follows something. */
export interface Stop {
  readonly signal: AbortSignal;
  /** Null while nothing has stopped it. */
  readonly reason: StopReason | null;
  /** Stops it, unless it was stopped before. */
  stop(reason: StopReason): void;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Follows something until the work is done, the person presses Ctrl-C, or the reader of our output has gone (`yard audit tail |
 * head`). A second Ctrl-C ends the process.
 */
export async function untilStopped<T>(follow: (stop: Stop) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  let reason: StopReason | null = null;
  const stop = (why: StopReason): void => {
    reason ??= why;
    stopping.abort();
  };
  const onSignal = (): void => stop("interrupted");
  for (const name of SIGNALS) process.once(name, onSignal);
  const output = onOutputClosed(() => stop("closed"));
  try {
    return await follow({
      signal: stopping.signal,
      get reason() {
        return reason;
      },
      stop,
    });
  } finally {
    output.remove();
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

/** The exit code of a command that was stopped; a closed output means that its reader has seen enough. */
export function exitOfStop(reason: StopReason | null): ExitCode {
  if (reason === "timeout") return EXIT.timeout;
  return reason === "interrupted" ? EXIT.interrupted : EXIT.ok;
}

/** Calls `onClosed` once, when our standard output no longer has a reader. */
export function onOutputClosed(onClosed: () => void): { remove(): void } {
  let isAnnounced = false;
  const announce = (): void => {
    if (isAnnounced) return;
    isAnnounced = true;
    onClosed();
  };
  process.stdout.once("error", announce);
  const watch = watchPipe(announce);
  return {
    remove() {
      isAnnounced = true;
      process.stdout.off("error", announce);
      watch?.kill();
    },
  };
}

/**
 * A write is the only way in which Node.js detects that a pipe has no reader, and a quiet stream writes nothing. GNU tail polls
 * (poll(2)), and ends with SIGPIPE. With another tail the next written line fails.
 */
function watchPipe(onClosed: () => void): { kill(): void } | null {
  if (!fstatSync(1).isFIFO()) return null;
  const child = spawn("tail", ["-f", `--pid=${process.pid}`, "/dev/null"], {
    stdio: ["ignore", "inherit", "ignore"],
  });
  child.on("error", () => {}); // there is no tail here
  child.once("exit", (_code, signal) => {
    if (signal === "SIGPIPE") onClosed();
  });
  child.unref();
  return { kill: () => void child.kill("SIGKILL") };
}
