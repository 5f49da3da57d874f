import type { BrokerPresence, PresentBroker } from "./broker-presence.ts";
import { serversToClaim, shouldGiveOne } from "./fair-share.ts";
import { LeaseStoreError, type HeldLease, type LeaseStore } from "./lease-store.ts";
import { elapsedMs, instant, type Instant, type LeaseTimes } from "./lease-times.ts";
import type { ServerDirectory } from "./server-directory.ts";

export interface OwnershipOptions {
  readonly self: string;
  readonly store: LeaseStore;
  readonly presence: BrokerPresence;
  readonly directory: ServerDirectory;
  readonly times: LeaseTimes;
  /** The most servers that this broker owns. */
  readonly limit: number;
  /** At most one server is moved between brokers in this time. */
  readonly rebalanceMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** All servers there are. */
  readonly servers: () => readonly string[];
  /** Text that the other brokers are told of an owned server. */
  readonly textOf: (server: string) => string;
  /** True when nobody would notice that the server changes its owner. */
  readonly isIdle: (server: string) => boolean;
  readonly onGained: (server: string) => void;
  /** The lease is not to be trusted any more: the server must not hear from here again. */
  readonly onLost: (server: string) => void;
  /** Ends calls and connection before the lease is given up. */
  readonly onGive: (server: string) => Promise<void>;
  /** Tells the other brokers to look at the server's lease. */
  readonly hint: (server: string) => void;
  /** A look at Redis went well. */
  readonly onRound: () => void;
  /** Redis cannot be asked, or can again (null). Told once for each. */
  readonly onOutage: (error: LeaseStoreError | null) => void;
  readonly onFault: (error: unknown) => void;
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
 * Which servers this broker owns. It believes in a lease for two thirds of its length after the
 * last confirmed renewal was sent, by its own clock, and asks that clock again at every use. So
 * whoever takes the lease over begins after this one has ended, however slow Redis or this process is.
 */
export class ServerOwnership {
  readonly #options: OwnershipOptions;
  readonly #held = new Map<string, Held>();
  /** When each server was first seen without an owner. */
  readonly #freeSince = new Map<string, Instant>();
  #brokers: readonly PresentBroker[] = [];
  #lastRound: Instant | null = null;
  #isRunning = false;
  #isWanted = false;
  #isStopping = false;
  #isOut = false;
  #unevenSince: Instant | null = null;
  readonly #noticed = new Set<string>();
  #timers: NodeJS.Timeout[] = [];
  #claimTimer: NodeJS.Timeout | undefined;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  /** Takes its share of the free servers once, and keeps it from then on. Rejects with LeaseStoreError. */
  async start(): Promise<void> {
    const { tickMs, hesitationMs } = this.#options.times;
    await this.#round();
    // What is beyond the fair share is left to the others for a moment, and not for longer.
    if (this.#freeSince.size > 0) {
      await new Promise((resolve) => {
        setTimeout(resolve, hesitationMs + 1);
      });
      await this.#round();
    }
    // Two timers: what Redis keeps waiting must not keep a lease from ending here in time.
    this.#timers = [
      setInterval(() => this.#dropUntrusted(), tickMs),
      setInterval(() => this.#tick(), tickMs),
    ];
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

  get owned(): number {
    return this.#held.size;
  }

  get limit(): number {
    return this.#options.limit;
  }

  /** True for one of the brokers that there are. */
  get isFirst(): boolean {
    return this.#brokers.every(({ id }) => id >= this.#options.self);
  }

  /** The lease of a server that another broker had or has changed. */
  noticed(server: string): void {
    if (this.#held.has(server) || this.#isStopping) return;
    this.#noticed.add(server);
    if (this.#noticed.size > 1) return;
    setImmediate(() => {
      this.#lookAtNoticed().catch((error: unknown) => this.#failed(error));
    });
  }

  /** Looks at one server now. Rejects with LeaseStoreError. */
  async lookAt(server: string): Promise<void> {
    await this.#lookAtAll([server]);
  }

  /** The servers changed. */
  nudge(): void {
    this.#lastRound = null;
    this.#tick();
  }

  /** What the others know of an owned server is not true any more. */
  changed(server: string): void {
    const held = this.#held.get(server);
    if (held === undefined || held.isStale) return;
    held.isStale = true;
    // After this turn: one event changes several things.
    setImmediate(() => {
      this.#tell(held).catch((error: unknown) => this.#failed(error));
    });
  }

  /** Takes the lease when nobody has it. Rejects with LeaseStoreError. */
  async claim(server: string): Promise<boolean> {
    if (this.owns(server)) return true;
    if (this.#isStopping || this.#held.size >= this.#options.limit) return false;
    await this.#acquire([server]);
    return this.owns(server);
  }

  /** The server is no more. */
  forget(server: string): void {
    const held = this.#held.get(server);
    if (held === undefined) return;
    this.#held.delete(server);
    this.#options.store.release(held).catch((error: unknown) => this.#failed(error));
  }

  /** Gives every server away, each as soon as its calls have ended. Resolves when nothing is held. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#options.presence.leave().catch((error: unknown) => this.#failed(error));
    await Promise.all([...this.#held.values()].map((held) => this.#give(held)));
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#claimTimer);
  }

  #tick(): void {
    if (this.#isRunning) {
      this.#isWanted = true;
      return;
    }
    const { renewMs } = this.#options.times;
    if (this.#lastRound !== null && elapsedMs(this.#lastRound, instant()) < renewMs) return;
    this.#isRunning = true;
    this.#round()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#isRunning = false;
        if (!this.#isWanted) return;
        this.#isWanted = false;
        this.#tick();
      });
  }

  async #round(): Promise<void> {
    const begun = instant();
    await this.#renew();
    if (!this.#isStopping) {
      await this.#look();
      await this.#claimShare();
      await this.#giveSurplus();
    }
    this.#lastRound = begun;
    if (this.#isOut) this.#options.onOutage(null);
    this.#isOut = false;
    this.#options.onRound();
    for (const held of this.#held.values()) if (held.isStale) await this.#tell(held);
  }

  async #renew(): Promise<void> {
    const { store, times } = this.#options;
    const leases = [...this.#held.values()];
    const sentAt = instant();
    const kept = await store.renew(leases, times.leaseMs);
    for (const [index, held] of leases.entries()) {
      if (kept[index] === true) held.confirmed = sentAt;
      else this.#drop(held);
    }
  }

  async #look(): Promise<void> {
    const { presence, limit } = this.#options;
    const servers = this.#options.servers();
    for (const server of this.#freeSince.keys())
      if (!servers.includes(server)) this.#freeSince.delete(server);
    const [brokers] = await Promise.all([
      presence.beat({ owned: this.#held.size, limit }),
      this.#lookAtAll(servers.filter((server) => !this.#held.has(server))),
    ]);
    this.#brokers = brokers;
  }

  async #lookAtAll(servers: readonly string[]): Promise<void> {
    const seenAt = instant();
    const leases = await this.#options.store.look(servers);
    const seen = new Map(servers.map((server, index) => [server, leases[index] ?? null]));
    await this.#options.directory.update(seen, seenAt);
    for (const [server, lease] of seen) {
      if (lease !== null || this.#held.has(server)) this.#freeSince.delete(server);
      else if (!this.#freeSince.has(server)) this.#freeSince.set(server, seenAt);
    }
  }

  async #lookAtNoticed(): Promise<void> {
    const known = new Set(this.#options.servers());
    const servers = [...this.#noticed].filter((server) => known.has(server));
    this.#noticed.clear();
    await this.#lookAtAll(servers);
    await this.#claimShare();
  }

  async #claimShare(): Promise<void> {
    const { self, limit, times, servers } = this.#options;
    const now = instant();
    const free = [...this.#freeSince].map(([server, since]) => ({
      server,
      freeForMs: elapsedMs(since, now),
    }));
    const wanted = serversToClaim({
      self,
      brokers: this.#brokers.map((broker) =>
        broker.id === self ? { id: self, owned: this.#held.size, limit } : broker,
      ),
      free: shuffled(free, this.#options.random),
      total: servers().length,
      hesitationMs: times.hesitationMs,
    });
    await this.#acquire(wanted);
    this.#planNextClaim(free.length > wanted.length);
  }

  /** Looks again when the next lease of another broker ends, or when the hesitation is over. */
  #planNextClaim(isHesitating: boolean): void {
    const { directory, times, random } = this.#options;
    const left = this.#options
      .servers()
      .filter((server) => directory.ownerOf(server) !== null)
      .map((server) => directory.leftMs(server));
    const next = Math.min(...left, isHesitating ? times.hesitationMs : Infinity);
    clearTimeout(this.#claimTimer);
    if (next > times.leaseMs || this.#isStopping) return;
    this.#claimTimer = setTimeout(() => this.nudge(), next + 1 + times.jitterMs * random());
  }

  async #acquire(servers: readonly string[]): Promise<void> {
    if (servers.length === 0) return;
    const { store, times, onGained, hint } = this.#options;
    const sentAt = instant();
    const epochs = await store.acquire(servers, times.leaseMs);
    for (const [index, server] of servers.entries()) {
      const epoch = epochs[index] ?? null;
      this.#freeSince.delete(server);
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

  async #giveSurplus(): Promise<void> {
    const { self, limit, rebalanceMs, presence, isIdle } = this.#options;
    const brokers = this.#brokers.map((broker) =>
      broker.id === self ? { id: self, owned: this.#held.size, limit } : broker,
    );
    const isLeaving = [...this.#held.values()].some((held) => held.isLeaving);
    if (isLeaving || !shouldGiveOne({ self, brokers })) {
      this.#unevenSince = null;
      return;
    }
    this.#unevenSince ??= instant();
    // A broker that only restarts is not worth a move: the difference has to last.
    if (elapsedMs(this.#unevenSince, instant()) < rebalanceMs / 2) return;
    const idle = [...this.#held.values()].find(({ server }) => isIdle(server));
    if (idle === undefined || !(await presence.takeTurn(rebalanceMs))) return;
    void this.#give(idle);
  }

  async #give(held: Held): Promise<void> {
    const { store, onGive, hint, onFault } = this.#options;
    held.isLeaving = true;
    try {
      await onGive(held.server);
      if (this.#held.get(held.server) === held) this.#held.delete(held.server);
      await store.release(held);
      hint(held.server);
    } catch (error) {
      if (error instanceof LeaseStoreError) this.#failed(error);
      else onFault(error);
    }
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

  #dropUntrusted(): void {
    for (const held of this.#held.values()) if (!this.#isTrusted(held)) this.#drop(held);
  }

  #drop(held: Held): void {
    if (this.#held.get(held.server) !== held) return;
    this.#held.delete(held.server);
    this.#options.onLost(held.server);
  }

  #isTrusted(held: Held): boolean {
    return elapsedMs(held.confirmed, instant()) < this.#options.times.trustMs;
  }

  #failed(error: unknown): void {
    if (!(error instanceof LeaseStoreError)) return this.#options.onFault(error);
    if (!this.#isOut) this.#options.onOutage(error);
    this.#isOut = true;
  }
}

/** In an order of its own for each broker, so that two do not claim the same servers first. */
function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
