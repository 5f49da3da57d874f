import { parentPort, Worker, workerData } from "node:worker_threads";
import { threadLimits } from "./thread-limits.ts";

export interface ThreadJob {
  /** The thread's file, which calls `answerThreadJob`. */
  readonly file: URL;
  /** Copied to the thread. */
  readonly data: unknown;
  /** By the clock, the start of the thread included. */
  readonly limitMs: number;
  readonly maxHeapMb: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Has one job done in a thread of its own, which ends with it, so that nothing that strangers wrote can hold up this thread.
 * The thread has no environment: it gets no keys but those in `data`. Resolves with what it answered, null when that took more
 * time or memory than it may. Rejects with the signal's reason, and with what the thread throws.
 */
export async function doInThread<Answer>(job: ThreadJob): Promise<Answer | null> {
  const { file, data, limitMs, maxHeapMb, signal } = job;
  signal?.throwIfAborted();
  const worker = new Worker(file, {
    workerData: data,
    env: {},
    resourceLimits: threadLimits(maxHeapMb),
  });
  const { promise, resolve, reject } = Promise.withResolvers<Answer | null>();
  const abort = (): void => reject(signal?.reason);
  const timer = setTimeout(() => resolve(null), limitMs);
  signal?.addEventListener("abort", abort, { once: true });
  worker.once("message", resolve);
  worker.once("error", (error) => (isOutOfMemory(error) ? resolve(null) : reject(error)));
  worker.once("exit", () =>
    reject(new Error(`the thread of ${file.href} ended without an answer`)),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    await worker.terminate();
  }
}

/** Used in the thread's file: answers with the result of `work` for the job's data. `work` names the type of the data that it receives. */
export function answerThreadJob(work: (data: never) => unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
  parentPort?.postMessage(work(workerData as never)); // what doInThread was given
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
