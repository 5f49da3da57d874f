import { Roster, type Seat } from "./roster.ts";

/** Work that has begun and has not ended. */
export interface Work {
  /** Tells the work that nobody waits for it any longer. */
  abort(): void;
}

/** How long aborted work may take to come to its end, in milliseconds. */
const ABORT_GRACE_MS = 500;

/** The set of running work that a drain has to wait for. */
export class InFlight<W extends Work = Work> {
  readonly #work = new Roster<W>();
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#work.size;
  }

  /** What is returned is given to `end` when the work has come to its end. */
  begin(work: W): Seat<W> {
    return this.#work.add(work);
  }

  end(seat: Seat<W>): void {
    this.#work.remove(seat);
    if (this.#work.size > 0 || this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  values(): readonly W[] {
    return this.#work.values();
  }

  /** Waits until nothing runs, however long it takes. */
  async idle(): Promise<void> {
    if (this.#work.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Tells all running work that nobody waits for it any longer. */
  abort(): void {
    for (const work of this.#work.values()) work.abort();
  }

  /**
   * Waits until nothing runs. At the deadline the rest is aborted and gets half a second more.
   * Returns true when all work came to its end.
   */
  async settle(deadlineMs: number): Promise<boolean> {
    if (await this.#isIdleWithin(deadlineMs)) return true;
    this.abort();
    return this.#isIdleWithin(ABORT_GRACE_MS);
  }

  #isIdleWithin(waitMs: number): Promise<boolean> {
    if (this.#work.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), waitMs);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}
