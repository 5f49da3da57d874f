import type { AgentJob, AgentJudgement } from "./judge-agent.ts";
import { unreadable, type Job, type Judges, type Verdict } from "./judge-job.ts";
import { JudgeThread, type ThreadEnd } from "./judge-thread.ts";
import type { Judgement, JudgeJob } from "./judge-skill.ts";

export interface JudgePoolOptions {
  /** Threads; each is started when it is first needed. */
  readonly size: number;
  /**
   * How much processor time one file may take. No input is known that needs a third of a second, so what reaches
   * this hangs; a machine that is busy with other things does not.
   */
  readonly deadlineMs: number;
  /** The worker's file; another one only in tests. */
  readonly worker?: URL;
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (verdict: Verdict) => void;
  /** How often a thread ended while this one waited in it. */
  setbacks: number;
}

/** A thread has so many jobs before it that it never waits for the next one. */
const AHEAD = { jobs: 16, bytes: 1024 * 1024 };
/** A job that was in so many threads that ended is given up, whoever was to blame. */
const MAX_SETBACKS = 3;
const WORKER = new URL("./judge-worker.ts", import.meta.url);

/** Reads skills and agents in threads that are ended when one file takes too long; the others are read by a new one. */
export class JudgePool implements Judges {
  readonly #queue: Waiting[] = [];
  readonly #lanes: Lane[];
  #isClosed = false;

  constructor({ size, deadlineMs, worker = WORKER }: JudgePoolOptions) {
    this.#lanes = Array.from(
      { length: size },
      () => new Lane({ queue: this.#queue, deadlineMs, worker }),
    );
  }

  async skill(job: JudgeJob): Promise<Judgement> {
    const verdict = await this.#do({ kind: "skill", job });
    if (verdict.kind === "skill") return verdict.judgement;
    throw new Error("a skill was answered by another verdict");
  }

  async agent(job: AgentJob): Promise<AgentJudgement> {
    const verdict = await this.#do({ kind: "agent", job });
    if (verdict.kind === "agent") return verdict.judgement;
    throw new Error("an agent was answered by another verdict");
  }

  /** Starts the threads, so that the first file need not wait for them. */
  warm(): void {
    for (const lane of this.#lanes) lane.warm();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #do(job: Job): Promise<Verdict> {
    if (this.#isClosed) return Promise.reject(new Error("the pool is closed"));
    return new Promise((resolve) => {
      this.#queue.push({ job, resolve, setbacks: 0 });
      for (const lane of this.#lanes) lane.fill();
    });
  }
}

interface LaneOptions {
  /** Shared by all lanes. */
  readonly queue: Waiting[];
  readonly deadlineMs: number;
  readonly worker: URL;
}

/** One thread after another: each replaces one that had to be ended. */
class Lane {
  readonly #options: LaneOptions;
  /** In the thread, the one that it is at first. */
  readonly #given: { readonly waiting: Waiting; readonly sizeBytes: number }[] = [];
  #thread: JudgeThread | null = null;
  #isClosed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  warm(): void {
    this.#thread ??= new JudgeThread({
      ...this.#options,
      onVerdict: (verdict) => this.#settle(verdict),
      onEnd: (end) => this.#replace(end),
    });
  }

  /** Gives the thread what waits, as far as it takes it. */
  fill(): void {
    const { queue } = this.#options;
    while (queue.length > 0 && !this.#isClosed && this.#hasRoom()) {
      const waiting = queue.shift();
      if (waiting === undefined) return;
      this.warm();
      const sizeBytes = this.#thread?.give(waiting.job) ?? 0;
      this.#given.push({ waiting, sizeBytes });
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.end();
  }

  #hasRoom(): boolean {
    const bytes = this.#given.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return this.#given.length < AHEAD.jobs && bytes < AHEAD.bytes;
  }

  #settle(verdict: Verdict): void {
    this.#given.shift()?.waiting.resolve(verdict);
    this.fill();
  }

  #replace(end: ThreadEnd): void {
    this.#thread = null;
    const left = this.#given.splice(0).map(({ waiting }) => waiting);
    // What is done, with its answer lost on the way, is done again like what was not begun.
    const [blamed] = left.splice(end.answersLost, 1);
    blamed?.resolve(verdictOf(blamed.job, end, this.#options.deadlineMs));
    const again = left.filter((waiting) => {
      waiting.setbacks += 1;
      if (waiting.setbacks < MAX_SETBACKS) return true;
      waiting.resolve(verdictOf(waiting.job, end, this.#options.deadlineMs));
      return false;
    });
    this.#options.queue.unshift(...again);
    this.fill();
  }
}

function verdictOf(job: Job, end: ThreadEnd, deadlineMs: number): Verdict {
  return end.kind === "late"
    ? unreadable(
        job,
        "deadline_exceeded",
        `reading it took longer than the deadline of ${deadlineMs} ms; make its files simpler`,
      )
    : unreadable(job, "not_judged", `it could not be read: ${end.message}`);
}
