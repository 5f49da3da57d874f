import { errorFinding } from "../finding.ts";
import { unreadable, type Job, type Analysis, type Analyzer } from "./analyze.ts";
import { AnalysisThread, type ThreadEnd } from "./analysis-thread.ts";
import type { ScanSettings } from "./scan-settings.ts";

export interface ThreadAnalyzerOptions {
  /**
   * The processor time that one file may take. No known input needs a third of a second, so a file that reaches this limit hangs;
   * a machine that is merely busy does not.
   */
  readonly deadlineMs: number;
  /** The operator's settings, used for every job. */
  readonly settings?: ScanSettings;
  /** The worker's file; another one only in tests. */
  readonly worker?: URL;
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (analysis: Analysis) => void;
  /** The number of threads that ended while this job waited in them. */
  setbacks: number;
}

/** A thread has so many jobs before it that it never waits for the next one. */
const AHEAD = { jobs: 16, bytes: 1024 * 1024 };
/** A job that was in this many threads that ended is abandoned, whichever job was the cause. */
const MAX_SETBACKS = 3;
const WORKER = new URL("./analysis-worker.ts", import.meta.url);

/**
 * Reads skills and agents in a thread that is started on first use, and ended when one file takes too long; a new thread reads
 * the remaining ones.
 */
export class ThreadAnalyzer implements Analyzer {
  readonly #options: { readonly deadlineMs: number; readonly worker: URL };
  readonly #settings: ScanSettings | undefined;
  readonly #queue: Waiting[] = [];
  /** The jobs in the thread; the first one is being read. */
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

  /** Sends waiting jobs to the thread, as far as it accepts them. */
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
    // Jobs that were completed but whose answers were lost are repeated, like those that had not begun.
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
