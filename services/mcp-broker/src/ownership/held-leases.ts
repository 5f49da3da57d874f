import type { HeldLease, LeaseStore } from "./lease-store.ts";
import { elapsedMs, instant, type Instant, type LeaseTimes } from "./lease-times.ts";

export interface HeldLeasesOptions {
  readonly store: LeaseStore;
  readonly times: LeaseTimes;
  /** Text that the other brokers are told of an owned server. */
  readonly textOf: (server: string) => string;
  readonly onGained: (server: string) => void;
  /** The lease is not to be trusted any more: the server must not hear from here again. */
  readonly onLost: (server: string) => void;
  /** Ends calls and connection before the lease is given up. */
  readonly onGive: (server: string) => Promise<void>;
  /** Tells the other brokers to look at the server's lease. */
  readonly hint: (server: string) => void;
  /** Something failed that nobody waits for. */
  readonly onFailed: (error: unknown) => void;
}

interface Held extends HeldLease {
  /** When the renewal was sent that Redis confirmed last. */
  confirmed: Instant;
  version: number;
  /** There is something to tell the others. */
  isStale: boolean;
  /** It is being given away: no reason to give another one. */
  isLeaving: boolean;
}

/**
 * The leases of this broker. It believes in one for two thirds of its length after the last confirmed
 * renewal was sent, by its own clock, and asks that clock again at every use. So whoever takes the lease
 * over begins after this one has ended, however slow Redis or this process is.
 */
export class HeldLeases {
  readonly #options: HeldLeasesOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: HeldLeasesOptions) {
    this.#options = options;
  }

  get servers(): readonly string[] {
    return [...this.#held.keys()];
  }

  get count(): number {
    return this.#held.size;
  }

  get isLeaving(): boolean {
    return [...this.#held.values()].some((held) => held.isLeaving);
  }

  /** True for a lease that was trusted when somebody looked last. */
  has(server: string): boolean {
    return this.#held.has(server);
  }

  /** True while the lease is to be trusted, at this very moment. */
  owns(server: string): boolean {
    const held = this.#held.get(server);
    return held !== undefined && this.#isTrusted(held);
  }

  /** True when it owns the server and is not giving it away. */
  keeps(server: string): boolean {
    return this.owns(server) && this.#held.get(server)?.isLeaving === false;
  }

  /** Takes the leases that nobody has. Rejects with StoreError, like every question to Redis here. */
  async acquire(servers: readonly string[]): Promise<void> {
    if (servers.length === 0) return;
    const { store, times, onGained, hint } = this.#options;
    const sentAt = instant();
    const epochs = await store.acquire(servers, times.leaseMs);
    for (const [index, server] of servers.entries()) {
      const epoch = epochs[index] ?? null;
      if (epoch === null) continue;
      this.#held.set(server, {
        server,
        epoch,
        confirmed: sentAt,
        version: 0,
        isStale: false,
        isLeaving: false,
      });
      onGained(server);
      this.changed(server);
      hint(server);
    }
  }

  async renew(): Promise<void> {
    const { store, times } = this.#options;
    const leases = [...this.#held.values()];
    const sentAt = instant();
    const kept = await store.renew(leases, times.leaseMs);
    for (const [index, held] of leases.entries()) {
      if (kept[index] === true) held.confirmed = sentAt;
      else this.#drop(held);
    }
  }

  /** Leaves what is not to be trusted any more. */
  dropUntrusted(): void {
    for (const held of this.#held.values()) if (!this.#isTrusted(held)) this.#drop(held);
  }

  /** What the others know of an owned server is not true any more. */
  changed(server: string): void {
    const held = this.#held.get(server);
    if (held === undefined || held.isStale) return;
    held.isStale = true;
    // After this turn: one event changes several things.
    setImmediate(() => {
      this.#tell(held).catch(this.#options.onFailed);
    });
  }

  /** Tells what could not be told before. */
  async tellStale(): Promise<void> {
    for (const held of this.#held.values()) if (held.isStale) await this.#tell(held);
  }

  /** Gives a server away when its calls have ended; never rejects. */
  async give(server: string): Promise<void> {
    const held = this.#held.get(server);
    if (held === undefined) return;
    const { store, onGive, hint, onFailed } = this.#options;
    held.isLeaving = true;
    try {
      await onGive(server);
      if (this.#held.get(server) === held) this.#held.delete(server);
      await store.release(held);
      hint(server);
    } catch (error) {
      onFailed(error);
    }
  }

  /** The server is no more. */
  forget(server: string): void {
    const held = this.#held.get(server);
    if (held === undefined) return;
    this.#held.delete(server);
    this.#options.store.release(held).catch(this.#options.onFailed);
  }

  async #tell(held: Held): Promise<void> {
    if (!held.isStale || this.#held.get(held.server) !== held) return;
    const { store, textOf, hint } = this.#options;
    held.isStale = false;
    held.version += 1;
    const { version } = held;
    try {
      await store.write(held, { version, text: textOf(held.server) });
    } catch (error) {
      held.isStale = true;
      throw error;
    }
    hint(held.server);
  }

  #drop(held: Held): void {
    if (this.#held.get(held.server) !== held) return;
    this.#held.delete(held.server);
    this.#options.onLost(held.server);
  }

  #isTrusted(held: Held): boolean {
    return elapsedMs(held.confirmed, instant()) < this.#options.times.trustMs;
  }
}
