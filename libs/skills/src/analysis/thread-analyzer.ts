import { errorFinding } from "../finding.ts";
import { unreadable, type Job, type Analysis, type Analyzer } from "./analyze.ts";
import { AnalysisThread, type ThreadEnd } from "./analysis-thread.ts";
import type { ScanSettings } from "./scan-settings.ts";

export interface ThreadAnalyzerOptions {
  /**
   * How much processor time one file may take. No input is known that needs a third of a second, so what reaches
   * this hangs; a machine that is busy with other things does not.
   */
  readonly deadlineMs: number;
  /** Of the operator, for every job. */
  readonly settings?: ScanSettings;
  /** The worker's file; another one only in tests. */
  readonly worker?: URL;
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (analysis: Analysis) => void;
  /** How often a thread ended while this one waited in it. */
  setbacks: number;
}

/** A thread has so many jobs before it that it never waits for the next one. */
const AHEAD = { jobs: 16, bytes: 1024 * 1024 };
/** A job that was in so many threads that ended is given up, whoever was to blame. */
const MAX_SETBACKS = 3;
const WORKER = new URL("./analysis-worker.ts", import.meta.url);

/**
 * Reads skills and agents in a thread that is started when it is first needed, and ended when one file takes too
 * long; the others are read by a new one.
 */
export class ThreadAnalyzer implements Analyzer {
  readonly #options: { readonly deadlineMs: number; readonly worker: URL };
  readonly #settings: ScanSettings | undefined;
  readonly #queue: Waiting[] = [];
  /** In the thread, the one that it is at first. */
  readonly #given: { readonly waiting: Waiting; readonly sizeBytes: number }[] = [];
  #thread: AnalysisThread | null = null;
  #isClosed = false;

  constructor({ deadlineMs, settings, worker = WORKER }: ThreadAnalyzerOptions) {
    this.#options = { deadlineMs, worker };
    this.#settings = settings;
  }

  analyze<K extends Job["kind"]>(job: Job<K>): Promise<Analysis<K>> {
    if (this.#isClosed) return Promise.reject(new Error("the analyzer is closed"));
    return new Promise((resolve) => {
      this.#queue.push({
        job: this.#settings === undefined ? job : { ...job, settings: this.#settings },
        resolve: (analysis) => resolve(analysis as Analysis<K>), // of the job's own kind
        setbacks: 0,
      });
      this.#fill();
    });
  }

  /** Starts the thread, so that the first file need not wait for it. */
  warm(): AnalysisThread {
    this.#thread ??= new AnalysisThread({
      ...this.#options,
      onAnalysis: (analysis) => this.#settle(analysis),
      onEnd: (end) => this.#replace(end),
    });
    return this.#thread;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.end();
  }

  /** Gives the thread what waits, as far as it takes it. */
  #fill(): void {
    while (!this.#isClosed && this.#hasRoom()) {
      const waiting = this.#queue.shift();
      if (waiting === undefined) return;
      this.#given.push({ waiting, sizeBytes: this.warm().give(waiting.job) });
    }
  }

  #hasRoom(): boolean {
    const bytes = this.#given.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return this.#given.length < AHEAD.jobs && bytes < AHEAD.bytes;
  }

  #settle(analysis: Analysis): void {
    this.#given.shift()?.waiting.resolve(analysis);
    this.#fill();
  }

  #replace(end: ThreadEnd): void {
    this.#thread = null;
    const left = this.#given.splice(0).map(({ waiting }) => waiting);
    // What is done, with its answer lost on the way, is done again like what was not begun.
    const [blamed] = left.splice(end.answersLost, 1);
    blamed?.resolve(failedAnalysis(blamed.job, end, this.#options.deadlineMs));
    const again = left.filter((waiting) => {
      waiting.setbacks += 1;
      if (waiting.setbacks < MAX_SETBACKS) return true;
      waiting.resolve(failedAnalysis(waiting.job, end, this.#options.deadlineMs));
      return false;
    });
    this.#queue.unshift(...again);
    this.#fill();
  }
}

function failedAnalysis({ kind }: Job, end: ThreadEnd, deadlineMs: number): Analysis {
  const problem =
    end.kind === "late"
      ? errorFinding(
          "deadline_exceeded",
          `reading it took longer than the deadline of ${deadlineMs} ms; make its files simpler`,
        )
      : errorFinding("not_judged", `it could not be read: ${end.message}`);
  return unreadable(kind, problem);
}
