import { laneFilter } from "@switchyard/topology/lanes";
import type { Lanes } from "@switchyard/topology/streams";

/** Messages of a queue that wait behind each other and not behind those of other lanes. */
export interface Lane {
  /** The subjects of its messages. */
  readonly filter: string;
  /** Messages before this position were delivered or looked at. */
  from: number;
  /** The number of its messages that this process has in progress. */
  inWork: number;
  /** Grows with each message that was taken. */
  servedAt: number;
  /** False when nothing more was found in it. */
  mayWait: boolean;
  /** The time at which a message of it was last announced, in milliseconds, if none was taken since; else -Infinity. */
  announcedAt: number;
}

/**
 * Selects the lane whose turn it is: the one with the fewest messages in progress in this process, of equal ones the one that was served
 * longest ago.
 */
export class LaneTurns {
  readonly #perCaller: ReadonlySet<string>;
  readonly #shared: ReadonlySet<string>;
  readonly #lanes = new Map<string, Lane>();
  #served = 0;
  /** The lane of the message that the queue delivered last: its next delivery is probably of the same. */
  #queueLane: Lane | null = null;

  constructor({ perCaller, shared }: Lanes) {
    this.#perCaller = new Set(perCaller);
    this.#shared = new Set(shared);
  }

  /** Counts a message as taken; `isInTurn` when the queue delivered it. */
  take(subject: string, isInTurn: boolean): Lane {
    const lane = this.#laneOf(this.#filterFor(subject) ?? subject);
    lane.inWork += 1;
    this.#served += 1;
    lane.servedAt = this.#served;
    lane.announcedAt = -Infinity;
    if (isInTurn) this.#queueLane = lane;
    return lane;
  }

  /** Counts a message as waiting since `now`; null when its subject is in no lane. */
  markWaiting(subject: string, now: number): Lane | null {
    const filter = this.#filterFor(subject);
    if (filter === null) return null;
    const lane = this.#laneOf(filter);
    lane.mayWait = true;
    lane.announcedAt = now;
    return lane;
  }

  /** Counts a message as done. True when the lane has nothing else in progress, and a message of it was announced since `since`. */
  left(lane: Lane, since: number): boolean {
    lane.inWork -= 1;
    return lane.inWork === 0 && lane.announcedAt >= since;
  }

  /** The lane that is to be served before the queue continues; null when the queue may continue. */
  next(): Lane | null {
    let best: Lane | null = null;
    for (const lane of this.#lanes.values()) {
      if (lane.mayWait && (best === null || isBefore(lane, best))) best = lane;
    }
    return best === this.#queueLane ? null : best;
  }

  /**
   * Notes which lanes have stored messages: all lanes when the list is complete, those with a caller when not. The other lanes may then
   * have messages.
   */
  refresh(subjects: Iterable<string>, isComplete: boolean): void {
    const filters = new Set<string | null>();
    for (const subject of subjects) filters.add(this.#filterFor(subject));
    if (!isComplete) for (const name of this.#shared) filters.add(laneFilter("*", name));
    for (const filter of filters) if (filter !== null) this.#laneOf(filter);
    for (const [filter, lane] of this.#lanes) {
      lane.mayWait = filters.has(filter);
      if (!lane.mayWait && lane.inWork === 0) this.#lanes.delete(filter);
    }
  }

  /** Forgets the positions: the stream may be another one. */
  restart(): void {
    for (const lane of this.#lanes.values()) lane.from = 0;
  }

  /** Null for a subject in no lane. */
  #filterFor(subject: string): string | null {
    const [, , caller = "", noun = "", verb = ""] = subject.split(".");
    const name = `${noun}.${verb}`;
    if (this.#perCaller.has(name)) return laneFilter(caller, name);
    return this.#shared.has(name) ? laneFilter("*", name) : null;
  }

  #laneOf(filter: string): Lane {
    const known = this.#lanes.get(filter);
    if (known !== undefined) return known;
    const lane = {
      filter,
      from: 0,
      inWork: 0,
      servedAt: 0,
      mayWait: false,
      announcedAt: -Infinity,
    };
    this.#lanes.set(filter, lane);
    return lane;
  }
}

function isBefore(lane: Lane, other: Lane): boolean {
  if (lane.inWork !== other.inWork) return lane.inWork < other.inWork;
  return lane.servedAt < other.servedAt;
}
