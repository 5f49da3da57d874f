import type { Lanes } from "@switchyard/contracts/streams";

/** Messages of a queue that wait behind each other and not behind those of other lanes. */
export interface Lane {
  /** The subjects of its messages. */
  readonly filter: string;
  /** What lies before was delivered or looked at. */
  from: number;
  /** How many of its messages this process has in work. */
  inWork: number;
  /** Grows with each message that was taken. */
  servedAt: number;
  /** False when nothing more was found in it. */
  mayWait: boolean;
}

/** Whose turn it is: the lane with the fewest messages in work in this process, of equal ones the one that was served longest ago. */
export class LaneTurns {
  readonly #perCaller: ReadonlySet<string>;
  readonly #shared: readonly string[];
  readonly #lanes = new Map<string, Lane>();
  #served = 0;
  /** Of the message that the queue delivered last: what it delivers next is probably of the same. */
  #queueLane: Lane | null = null;

  constructor({ perCaller, shared }: Lanes) {
    this.#perCaller = new Set(perCaller);
    this.#shared = shared.map((name) => filterOf("*", name));
  }

  /** Counts a message as taken; `isInTurn` when the queue delivered it. */
  take(subject: string, isInTurn: boolean): Lane {
    const [, , caller = "", noun = "", verb = ""] = subject.split(".");
    const name = `${noun}.${verb}`;
    const lane = this.#laneOf(filterOf(this.#perCaller.has(name) ? caller : "*", name));
    lane.inWork += 1;
    this.#served += 1;
    lane.servedAt = this.#served;
    if (isInTurn) this.#queueLane = lane;
    return lane;
  }

  /** The lane that is to be served before the queue goes on; null when the queue may go on. */
  next(): Lane | null {
    let best: Lane | null = null;
    for (const lane of this.#lanes.values()) {
      if (lane.mayWait && (best === null || isBefore(lane, best))) best = lane;
    }
    return best === this.#queueLane ? null : best;
  }

  /** Says which callers' messages are stored; any lane may have something again. */
  refresh(subjects: Iterable<string>): void {
    for (const lane of this.#lanes.values()) lane.mayWait = false;
    for (const subject of subjects) {
      const [, , caller = "", noun = "", verb = ""] = subject.split(".");
      this.#laneOf(filterOf(caller, `${noun}.${verb}`)).mayWait = true;
    }
    for (const filter of this.#shared) this.#laneOf(filter).mayWait = true;
    for (const [filter, { mayWait, inWork }] of this.#lanes) {
      if (!mayWait && inWork === 0) this.#lanes.delete(filter);
    }
  }

  /** Forgets where it looked: the stream may be another one. */
  restart(): void {
    for (const lane of this.#lanes.values()) lane.from = 0;
  }

  #laneOf(filter: string): Lane {
    const known = this.#lanes.get(filter);
    if (known !== undefined) return known;
    const lane = { filter, from: 0, inWork: 0, servedAt: 0, mayWait: false };
    this.#lanes.set(filter, lane);
    return lane;
  }
}

function isBefore(lane: Lane, other: Lane): boolean {
  if (lane.inWork !== other.inWork) return lane.inWork < other.inWork;
  return lane.servedAt < other.servedAt;
}

/** `name` is that of a command, and the two last words of its fixed subject. */
function filterOf(caller: string, name: string): string {
  return `yard.cmd.${caller}.${name}.>`;
}
