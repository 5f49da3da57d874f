/** Something that ends when its time is over. */
export interface Expirable {
  expire(): void;
}

const TICK_MS = 20;

/** The entries that expire at one tick; `delete` takes one of them off the wheel. */
export class Slot extends Set<Expirable> {
  readonly #slots: Map<number, Slot>;
  readonly #tick: number;

  constructor(slots: Map<number, Slot>, tick: number) {
    super();
    this.#slots = slots;
    this.#tick = tick;
  }

  override delete(entry: Expirable): boolean {
    const wasHere = super.delete(entry);
    // Deadlines that are far away and far apart would otherwise fill the memory with empty slots.
    if (wasHere && this.size === 0 && this.#slots.get(this.#tick) === this)
      this.#slots.delete(this.#tick);
    return wasHere;
  }
}

/**
 * Timeouts for the hot path: thousands of entries share one timer, which runs only while an entry
 * waits. An entry never expires early and at most about one tick (20 ms) late.
 */
export class DeadlineWheel {
  readonly #slots = new Map<number, Slot>();
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | null = null;
  #nextTick = 0;

  /** `nowMs` is a clock that never goes back, in milliseconds. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Lets `entry` expire after `delayMs`. The entry is taken off with `slot.delete(entry)`. */
  add(entry: Expirable, delayMs: number): Slot {
    const now = this.#nowMs();
    this.#start(now);
    // A tick that was already processed would never be processed again.
    const tick = Math.max(this.#nextTick, Math.ceil((now + Math.max(0, delayMs)) / TICK_MS));
    let slot = this.#slots.get(tick);
    if (slot === undefined) {
      slot = new Slot(this.#slots, tick);
      this.#slots.set(tick, slot);
    }
    slot.add(entry);
    return slot;
  }

  /** Ends every entry whose time is over. The timer calls it; tests with their own clock do too. */
  advance(): void {
    const current = Math.floor(this.#nowMs() / TICK_MS);
    while (this.#nextTick <= current && this.#slots.size > 0) {
      const slot = this.#slots.get(this.#nextTick);
      this.#slots.delete(this.#nextTick);
      this.#nextTick += 1;
      if (slot !== undefined) for (const entry of slot) entry.expire();
    }
    if (this.#slots.size === 0) this.stop();
  }

  /** Forgets every entry without ending it. */
  stop(): void {
    this.#slots.clear();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #start(now: number): void {
    if (this.#timer !== null) return;
    this.#nextTick = Math.floor(now / TICK_MS);
    this.#timer = setInterval(() => this.advance(), TICK_MS);
    this.#timer.unref();
  }
}
