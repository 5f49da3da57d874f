import { Worker } from "node:worker_threads";
import { threadLimits } from "@switchyard/service/thread-limits";
import { packed, type Job, type Analysis, type Packed } from "./analyze.ts";
import { newProgress, type AnalysisProgress } from "./analysis-progress.ts";

/** The reason why a thread ended. */
export type ThreadEnd = {
  /** The number of jobs that were completed and whose answers did not arrive; the job after them caused the end. */
  readonly answersLost: number;
} & ({ readonly kind: "late" } | { readonly kind: "failed"; readonly message: string });

export interface AnalysisThreadOptions {
  readonly worker: URL;
  /** Processor time in milliseconds. A job may take {@link MAX_EXTENSION} times as much wall-clock time. */
  readonly deadlineMs: number;
  /** Called once for each job, in the order of submission; the answers of one message arrive together. */
  readonly onAnalysis: (analysis: Analysis) => void;
  /** Called once, when the thread ended by itself or had to be ended; no analysis follows. */
  readonly onEnd: (end: ThreadEnd) => void;
}

/** A thread that needs more memory is ended, like one that takes too long. */
const MAX_HEAP_MB = 192;

/** A machine that gives the thread less than a thirtieth of a processor does not finish anything else in time either. */
const MAX_EXTENSION = 30;
/** The interval between two checks of a late thread. */
const LOOK_MS = 20;

/** A worker that does its jobs in order, with a clock that runs while it has one. */
export class AnalysisThread {
  readonly #options: AnalysisThreadOptions;
  readonly #worker: Worker;
  readonly #progress: AnalysisProgress;
  /** Jobs of this turn of the event loop: they go in one message, because each message costs as much as a job. */
  #outgoing: Packed[] = [];
  #given = 0;
  #answered = 0;
  #isReady = false;
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: AnalysisThreadOptions) {
    this.#options = options;
    const { memory, progress } = newProgress();
    this.#progress = progress;
    this.#worker = new Worker(options.worker, {
      workerData: memory,
      resourceLimits: threadLimits(MAX_HEAP_MB),
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

  /** Ends the thread without a call of `onEnd`. */
  async end(): Promise<void> {
    this.#stop();
    await this.#worker.terminate();
  }

  /** All modules are loaded. The clock begins here: starting a thread takes longer than any file. */
  #begin(): void {
    this.#isReady = true;
    this.#worker.on("message", (analyses: readonly Analysis[]) => this.#answer(analyses));
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

  #answer(analyses: readonly Analysis[]): void {
    if (this.#isEnded) return;
    this.#answered += analyses.length;
    if (this.#answered === this.#given) {
      this.#worker.unref();
      this.#stopClock();
    }
    for (const analysis of analyses) this.#options.onAnalysis(analysis);
  }

  #startClock(): void {
    const isIdle = !this.#isReady || this.#isEnded || this.#answered === this.#given;
    if (isIdle || this.#timer !== null) return;
    const leftMs = this.#options.deadlineMs - this.#progress.busyMs();
    this.#timer = setTimeout(() => void this.#checkClock(), Math.max(LOOK_MS, Math.ceil(leftMs)));
  }

  /** A thread that waits for a processor is not late: between two jobs, or in one on a machine that is busy with others. */
  async #checkClock(): Promise<void> {
    const done = this.#progress.done();
    const isLate = await this.#isLate();
    if (this.#isEnded) return;
    this.#timer = null;
    if (isLate && this.#progress.done() === done)
      this.#finish({ kind: "late", answersLost: this.#answersLost() });
    else this.#startClock();
  }

  async #isLate(): Promise<boolean> {
    const { deadlineMs } = this.#options;
    const busyMs = this.#progress.busyMs();
    if (busyMs < deadlineMs) return false;
    if (busyMs > deadlineMs * MAX_EXTENSION) return true;
    const cpuAtBeginMs = this.#progress.cpuAtBeginMs();
    try {
      const { user, system } = await this.#worker.cpuUsage();
      return (user + system) / 1_000 - cpuAtBeginMs >= deadlineMs;
    } catch {
      return false; // it has just ended, which is an event of its own
    }
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
