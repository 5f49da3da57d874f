// Keeps one process of the stack running.
//
// S1  The first start either works or rejects; a restart is repeated with backoff until `stop`.
// S2  `stop` ends the process, whatever it was doing: running, starting, or waiting for its restart.
// S3  `current` is null exactly while no process answers.

import { setTimeout as delay } from "node:timers/promises";
import { EXIT_RESTART } from "@switchyard/service/start-error";
import { nextRestart } from "./restart-policy.ts";

/** The process exits in order to be restarted, which is no failure and needs no backoff. */
const RESTART_ASKED = `exit code ${EXIT_RESTART}`;

/** A process that was started and answers. */
export interface Running {
  readonly pid: number;
  readonly healthUrl: string | null;
  /** Resolves when it is gone, with how it ended: `exit code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>;
  /** Requests its end, and kills it when it takes too long. */
  stop(): Promise<void>;
  /** Kills it at once. */
  kill(): void;
}

export type Change =
  | { readonly change: "died"; readonly how: string; readonly restartInMs: number }
  | { readonly change: "restarting" }
  | { readonly change: "restarted"; readonly running: Running }
  | { readonly change: "restart_failed"; readonly error: unknown; readonly restartInMs: number };

export interface Supervised {
  readonly name: string;
  /** Resolves when the process answered for the first time; rejects when the first start failed. */
  readonly started: Promise<void>;
  readonly current: Running | null;
  stop(): Promise<void>;
  kill(): void;
}

/** Begins the first start. What is returned can be stopped and killed from the beginning. */
export function supervise(options: {
  name: string;
  /** Starts the process and waits until it answers; must end it when the signal aborts. */
  launch: (signal: AbortSignal) => Promise<Running>;
  onChange: (change: Change) => void;
  now?: () => number;
  /** Waits before a restart; an abort only ends the wait. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}): Supervised {
  const { name, launch, onChange, now = Date.now, pause = pauseFor } = options;
  const stopping = new AbortController();
  let current: Running | null = null;
  let restarts = { failures: 0, startedAtMs: now() };

  const start = async (): Promise<Running> => {
    current = await launch(stopping.signal);
    restarts = { ...restarts, startedAtMs: now() };
    return current;
  };
  const schedule = (): number => {
    const { delayMs, failures } = nextRestart(restarts, now());
    restarts = { failures, startedAtMs: now() };
    return delayMs;
  };
  const relaunch = async (): Promise<void> => {
    try {
      const running = await start();
      if (!stopping.signal.aborted) onChange({ change: "restarted", running });
    } catch (error) {
      if (stopping.signal.aborted) return;
      const restartInMs = schedule();
      onChange({ change: "restart_failed", error, restartInMs });
      await pause(restartInMs, stopping.signal);
    }
  };
  const keepRunning = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (current === null) {
        await relaunch();
        continue;
      }
      const how = await current.exited;
      current = null;
      if (stopping.signal.aborted) return;
      if (how === RESTART_ASKED) {
        onChange({ change: "restarting" });
        continue;
      }
      const restartInMs = schedule();
      onChange({ change: "died", how, restartInMs });
      await pause(restartInMs, stopping.signal);
    }
  };
  const started = start().then(() => undefined);
  const kept = started.then(keepRunning, () => {}); // `started` rejects when the first start failed

  return {
    name,
    started,
    get current() {
      return current;
    },
    async stop() {
      stopping.abort();
      await current?.stop();
      await kept;
      // A start that was under way may have come up between the two lines above.
      await current?.stop();
    },
    kill() {
      stopping.abort();
      current?.kill();
    },
  };
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
