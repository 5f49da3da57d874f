/** Work that has its turn, or waits for it. */
export interface Turn {
  /** Null when the work may begin at once. */
  readonly begins: Promise<void> | null;
  /** To be called when the work has ended, once. */
  end(): void;
}

interface Lane {
  /** Counts against the share, in the order in which it began. */
  readonly counted: Set<LaneTurn>;
  readonly waiting: LaneTurn[];
  askedAt: number;
}

/** Callers compete when each of them began something within that time. */
const COMPETES_MS = 100;
/** Work in progress for longer waits for something else than a processor, and no longer counts. */
const COUNTED_MS = 25;
/** The interval at which the counted work is rechecked while other work waits. */
const LOOK_MS = 5;

/**
 * Lets callers take turns at a processor: while several compete, each has its share of `atOnce` begun at a time, and further work waits
 * behind other work of the same caller. So the work of one waits behind that share, and not behind everything that another sends. Nothing
 * is refused, and nothing waits while one caller is alone.
 */
export class FairTurns {
  readonly #atOnce: number;
  readonly #now: () => number;
  readonly #lanes = new Map<string, Lane>();
  #sweptAt = -Infinity;
  #look: NodeJS.Timeout | null = null;

  constructor(atOnce: number, now: () => number = () => performance.now()) {
    this.#atOnce = atOnce;
    this.#now = now;
  }

  /** `caller` is the caller that the work is done for. */
  begin(caller: string): Turn {
    const now = this.#now();
    if (now - this.#sweptAt >= LOOK_MS) this.#sweep(now);
    const lane = this.#laneOf(caller);
    lane.askedAt = now;
    const turn = new LaneTurn(this, lane);
    if (lane.waiting.length === 0 && this.#hasRoom(lane, now)) turn.start(now);
    else {
      turn.wait();
      if (this.#look === null) this.#look = setTimeout(this.#lookAgain, LOOK_MS).unref();
    }
    return turn;
  }

  /** To be called by a turn that has ended. */
  ended(lane: Lane): void {
    if (lane.waiting.length > 0) this.#admit(lane, this.#now());
  }

  #hasRoom({ counted }: Lane, now: number): boolean {
    if (this.#lanes.size === 1) return true;
    for (const turn of counted) {
      if (now - turn.beganAt < COUNTED_MS) break;
      counted.delete(turn);
    }
    return counted.size < Math.max(1, Math.floor(this.#atOnce / this.#lanes.size));
  }

  #admit(lane: Lane, now: number): void {
    while (lane.waiting.length > 0 && this.#hasRoom(lane, now)) lane.waiting.shift()?.start(now);
  }

  /** Removes callers that no longer compete. */
  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [caller, { askedAt, waiting }] of this.#lanes)
      if (waiting.length === 0 && now - askedAt >= COMPETES_MS) this.#lanes.delete(caller);
  }

  readonly #lookAgain = (): void => {
    const now = this.#now();
    this.#sweep(now);
    let isWaiting = false;
    for (const lane of this.#lanes.values()) {
      this.#admit(lane, now);
      isWaiting ||= lane.waiting.length > 0;
    }
    this.#look = isWaiting ? setTimeout(this.#lookAgain, LOOK_MS).unref() : null;
  };

  #laneOf(caller: string): Lane {
    const known = this.#lanes.get(caller);
    if (known !== undefined) return known;
    const lane: Lane = { counted: new Set(), waiting: [], askedAt: 0 };
    this.#lanes.set(caller, lane);
    return lane;
  }
}

class LaneTurn implements Turn {
  readonly #turns: FairTurns;
  readonly #lane: Lane;
  #begun: PromiseWithResolvers<void> | null = null;
  beganAt = 0;

  constructor(turns: FairTurns, lane: Lane) {
    this.#turns = turns;
    this.#lane = lane;
  }

  get begins(): Promise<void> | null {
    return this.#begun?.promise ?? null;
  }

  wait(): void {
    this.#begun = Promise.withResolvers();
    this.#lane.waiting.push(this);
  }

  start(now: number): void {
    this.beganAt = now;
    this.#lane.counted.add(this);
    this.#begun?.resolve();
  }

  end(): void {
    this.#lane.counted.delete(this);
    this.#turns.ended(this.#lane);
  }
}
