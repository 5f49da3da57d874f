import { Roster, type Seat } from "./roster.ts";

/** Work that has begun and has not ended. */
export interface Work {
  /** Notifies the work that its result is no longer needed. */
  abort(): void;
}

/** The time within which aborted work has to end, in milliseconds. */
const ABORT_GRACE_MS = 500;

/** The set of running work that a drain has to wait for. */
export class InFlight<W extends Work = Work> {
  readonly #work = new Roster<W>();
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#work.size;
  }

  /** The returned seat is passed to `end` when the work has ended. */
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

  /** Notifies all running work that its result is no longer needed. */
  abort(): void {
    for (const work of this.#work.values()) work.abort();
  }

  /** Waits until nothing runs. At the deadline the rest is aborted and gets half a second more. Returns true when all work ended. */
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
