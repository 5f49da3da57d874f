import { Worker } from "node:worker_threads";
import { errorFinding } from "../finding.ts";
import type { Judgement, JudgeJob } from "./judge-skill.ts";

export interface JudgePoolOptions {
  /** Threads; each is started when it is first needed. */
  readonly size: number;
  /**
   * How long one skill may take, by the clock. No input is known that needs a tenth of a second, so
   * what reaches this hangs; a machine that is busy with other things does not.
   */
  readonly deadlineMs: number;
  /** The worker's file; another one only in tests. */
  readonly worker?: URL;
}

const WORKER = new URL("./judge-worker.ts", import.meta.url);
/** A thread that needs more is ended, as one that takes too long. */
const MAX_HEAP_MB = 192;

interface Waiting {
  readonly job: JudgeJob;
  readonly resolve: (judgement: Judgement) => void;
}

/** Judges skills in threads that are ended when one skill takes too long; the others go on. */
export class JudgePool {
  readonly #options: JudgePoolOptions;
  readonly #queue: Waiting[] = [];
  readonly #lanes: Lane[];
  #isClosed = false;

  constructor(options: JudgePoolOptions) {
    this.#options = options;
    this.#lanes = Array.from({ length: options.size }, () => new Lane(options));
  }

  /** Never rejects for what the files hold: a skill that is too much is skipped with a diagnostic. */
  judge(job: JudgeJob): Promise<Judgement> {
    if (this.#isClosed) return Promise.reject(new Error("the pool is closed"));
    return new Promise((resolve) => {
      this.#queue.push({ job, resolve });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #next(): void {
    const lane = this.#lanes.find((candidate) => !candidate.isBusy);
    if (lane === undefined) return;
    const waiting = this.#queue.shift();
    if (waiting === undefined) return;
    void this.#run(lane, waiting);
  }

  async #run(lane: Lane, { job, resolve }: Waiting): Promise<void> {
    const outcome = await lane.run(job);
    resolve(
      outcome.kind === "done" ? outcome.judgement : tooMuch(outcome, this.#options.deadlineMs),
    );
    this.#next();
  }
}

type Outcome =
  | { readonly kind: "done"; readonly judgement: Judgement }
  | { readonly kind: "late" }
  | { readonly kind: "failed"; readonly message: string };

/** One thread after another: each replaces one that had to be ended. */
class Lane {
  isBusy = false;
  readonly #options: JudgePoolOptions;
  readonly #done = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #worker: Worker | null = null;

  constructor(options: JudgePoolOptions) {
    this.#options = options;
  }

  async run(job: JudgeJob): Promise<Outcome> {
    this.isBusy = true;
    const isFirst = this.#worker === null;
    const worker = (this.#worker ??= this.#start());
    // The clock begins when the thread can work: starting one takes longer than any skill.
    const ready = isFirst ? await untilReady(worker) : null;
    const outcome = ready ?? (await this.#answer(worker, job));
    if (outcome.kind !== "done") {
      this.#worker = null;
      await worker.terminate();
    }
    this.isBusy = false;
    return outcome;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#options.worker ?? WORKER, {
      workerData: this.#done.buffer,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.unref();
    return worker;
  }

  #answer(worker: Worker, job: JudgeJob): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const before = Atomics.load(this.#done, 0);
    const onMessage = (judgement: Judgement) => resolve({ kind: "done", judgement });
    const onError = (error: unknown) =>
      resolve({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    const onExit = () => resolve({ kind: "failed", message: "its thread ended" });
    worker.once("message", onMessage);
    worker.once("error", onError);
    worker.once("exit", onExit);
    worker.ref();
    const timer = setTimeout(() => {
      // Done, and its answer is on the way: this thread was the slow one.
      if (Atomics.load(this.#done, 0) === before) resolve({ kind: "late" });
    }, this.#options.deadlineMs);
    const files = copied(job.files);
    worker.postMessage(
      { ...job, files },
      [...files.values()].map(({ buffer }) => buffer),
    );
    return promise.finally(() => {
      clearTimeout(timer);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit).unref();
    });
  }
}

/** A view may be a small part of a large archive, which would be copied whole. */
function copied(files: JudgeJob["files"]): Map<string, Uint8Array<ArrayBuffer>> {
  return new Map([...files].map(([path, bytes]) => [path, new Uint8Array(bytes)]));
}

/** Null when the thread works, which it says by a first message; else why it does not. */
async function untilReady(worker: Worker): Promise<Outcome | null> {
  const { promise, resolve } = Promise.withResolvers<Outcome | null>();
  const onReady = () => resolve(null);
  const onError = (error: unknown) => resolve({ kind: "failed", message: String(error) });
  worker.ref();
  worker.once("message", onReady);
  worker.once("error", onError);
  const outcome = await promise;
  worker.off("error", onError);
  // An idle thread that fails is noticed when it is next needed.
  worker.on("error", () => {});
  return outcome;
}

function tooMuch(outcome: Exclude<Outcome, { kind: "done" }>, deadlineMs: number): Judgement {
  const finding =
    outcome.kind === "late"
      ? errorFinding(
          "deadline_exceeded",
          `reading the skill took longer than the deadline of ${deadlineMs} ms; make its files simpler`,
        )
      : errorFinding("not_judged", `the skill could not be read: ${outcome.message}`);
  return {
    parsed: { skill: null, metadata: null, findings: [finding], conformance: [] },
    report: null,
  };
}
