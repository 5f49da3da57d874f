import { Worker } from "node:worker_threads";
import { packed, type Job, type Packed, type Verdict } from "./judge-job.ts";
import { newProgress, type JudgeProgress } from "./judge-progress.ts";

/** Why a thread is no more. */
export type ThreadEnd = {
  /** Jobs that were done and whose answers did not arrive; the next one is the one to blame. */
  readonly answersLost: number;
} & ({ readonly kind: "late" } | { readonly kind: "failed"; readonly message: string });

export interface JudgeThreadOptions {
  readonly worker: URL;
  readonly deadlineMs: number;
  /** Called once for each job, in the order in which they were given; those of one message come together. */
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
  readonly #progress: JudgeProgress;
  /** Jobs of this turn of the event loop: they go in one message, because each message costs as much as a job. */
  #outgoing: Packed[] = [];
  #given = 0;
  #answered = 0;
  #isReady = false;
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: JudgeThreadOptions) {
    this.#options = options;
    const { memory, progress } = newProgress();
    this.#progress = progress;
    this.#worker = new Worker(options.worker, {
      workerData: memory,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    this.#worker.once("message", () => this.#begin());
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.once("exit", () => this.#fail(new Error("its thread ended")));
    this.#worker.unref();
  }

  /** Adds a job; returns its size in bytes. */
  give(job: Job): number {
    const one = packed(job);
    if (this.#given === this.#answered) this.#worker.ref();
    this.#given += 1;
    this.#outgoing.push(one);
    if (this.#outgoing.length === 1) setImmediate(() => this.#send());
    return one.sizeBytes;
  }

  /** Ends the thread without a word to `onEnd`. */
  async end(): Promise<void> {
    this.#stop();
    await this.#worker.terminate();
  }

  /** All modules are loaded. The clock begins here: starting a thread takes longer than any file. */
  #begin(): void {
    this.#isReady = true;
    this.#worker.on("message", (verdicts: readonly Verdict[]) => this.#answer(verdicts));
    this.#startClock();
  }

  #send(): void {
    if (this.#isEnded) return;
    const jobs = this.#outgoing;
    this.#outgoing = [];
    const memory = jobs.flatMap((job) => job.memory);
    this.#worker.postMessage(
      jobs.map(({ message }) => message),
      memory,
    );
    this.#startClock();
  }

  #answer(verdicts: readonly Verdict[]): void {
    if (this.#isEnded) return;
    this.#answered += verdicts.length;
    if (this.#answered === this.#given) {
      this.#worker.unref();
      this.#stopClock();
    }
    for (const verdict of verdicts) this.#options.onVerdict(verdict);
  }

  #startClock(): void {
    const isIdle = !this.#isReady || this.#isEnded || this.#answered === this.#given;
    if (isIdle || this.#timer !== null) return;
    const leftMs = this.#options.deadlineMs - this.#progress.busyMs();
    this.#timer = setTimeout(() => this.#checkClock(), Math.max(1, Math.ceil(leftMs)));
  }

  #checkClock(): void {
    this.#timer = null;
    // A thread between two jobs is not late, however long ago it got them: it waits for a processor.
    if (this.#progress.busyMs() < this.#options.deadlineMs) return this.#startClock();
    this.#finish({ kind: "late", answersLost: this.#answersLost() });
  }

  #fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#finish({ kind: "failed", message, answersLost: this.#answersLost() });
  }

  #answersLost(): number {
    return this.#progress.done() - this.#answered;
  }

  #finish(end: ThreadEnd): void {
    if (this.#isEnded) return;
    this.#stop();
    void this.#worker.terminate();
    this.#options.onEnd(end);
  }

  #stop(): void {
    this.#isEnded = true;
    this.#stopClock();
  }

  #stopClock(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
