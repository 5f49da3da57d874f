import { Worker } from "node:worker_threads";
import { packed, type Job, type Verdict } from "./judge-job.ts";

/** Why a thread is no more. */
export type ThreadEnd = {
  /** Jobs that were done and whose answers did not arrive; the next one is the one to blame. */
  readonly answersLost: number;
} & ({ readonly kind: "late" } | { readonly kind: "failed"; readonly message: string });

export interface JudgeThreadOptions {
  readonly worker: URL;
  readonly deadlineMs: number;
  /** Called once for each job, in the order in which they were given. */
  readonly onVerdict: (verdict: Verdict) => void;
  /** Called once, when the thread ended by itself or had to be ended; no verdict follows. */
  readonly onEnd: (end: ThreadEnd) => void;
}

/** A thread that needs more is ended, as one that takes too long. */
const MAX_HEAP_MB = 192;

/** A worker that does its jobs in order, with a clock that runs while it has one. */
export class JudgeThread {
  readonly #options: JudgeThreadOptions;
  readonly #worker: Worker;
  /** How many jobs the worker has done; it counts itself, before it answers. */
  readonly #done = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #given = 0;
  #answered = 0;
  #isReady = false;
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: JudgeThreadOptions) {
    this.#options = options;
    this.#worker = new Worker(options.worker, {
      workerData: this.#done.buffer,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    this.#worker.once("message", () => this.#begin());
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.once("exit", () => this.#fail(new Error("its thread ended")));
    this.#worker.unref();
  }

  /** Adds a job; returns its size in bytes. */
  give(job: Job): number {
    const { message, memory, sizeBytes } = packed(job);
    this.#given += 1;
    this.#worker.ref();
    this.#worker.postMessage(message, memory);
    if (this.#timer === null) this.#startClock();
    return sizeBytes;
  }

  /** Ends the thread without a word to `onEnd`. */
  async end(): Promise<void> {
    this.#stop();
    await this.#worker.terminate();
  }

  /** All modules are loaded. The clock begins here: starting a thread takes longer than any file. */
  #begin(): void {
    this.#isReady = true;
    this.#worker.on("message", (verdict: Verdict) => this.#answer(verdict));
    this.#startClock();
  }

  #answer(verdict: Verdict): void {
    if (this.#isEnded) return;
    this.#answered += 1;
    this.#startClock();
    if (this.#answered === this.#given) this.#worker.unref();
    this.#options.onVerdict(verdict);
  }

  #startClock(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!this.#isReady || this.#isEnded || this.#answered === this.#given) return;
    this.#timer = setTimeout(() => this.#checkClock(), this.#options.deadlineMs);
  }

  #checkClock(): void {
    // Done, and the answers are on the way: this thread was the slow one.
    if (Atomics.load(this.#done, 0) > this.#answered) return this.#startClock();
    this.#finish({ kind: "late", answersLost: 0 });
  }

  #fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#finish({
      kind: "failed",
      message,
      answersLost: Atomics.load(this.#done, 0) - this.#answered,
    });
  }

  #finish(end: ThreadEnd): void {
    if (this.#isEnded) return;
    this.#stop();
    void this.#worker.terminate();
    this.#options.onEnd(end);
  }

  #stop(): void {
    this.#isEnded = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
