import type { BrokerPresence, PresentBroker } from "./broker-presence.ts";
import { serversToClaim, shouldGiveOne, type BrokerShare } from "./fair-share.ts";
import { HeldLeases, type HeldLeasesOptions } from "./held-leases.ts";
import { elapsedMs, instant, type Instant } from "./lease-times.ts";
import type { ServerDirectory } from "./server-directory.ts";
import { StoreError } from "@switchyard/service/store-error";

export interface OwnershipOptions extends Omit<HeldLeasesOptions, "onFailed"> {
  readonly self: string;
  readonly presence: BrokerPresence;
  readonly directory: ServerDirectory;
  /** The most servers that this broker owns. */
  readonly limit: number;
  /** At most one server is moved between brokers in this time. */
  readonly rebalanceMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** All servers that this broker knows of by itself. */
  readonly servers: () => readonly string[];
  /** True when nobody would notice that the server changes its owner. */
  readonly isIdle: (server: string) => boolean;
  /** A look at Redis went well. */
  readonly onRound: () => void;
  /** Redis cannot be asked, or can again (null). Told once for each. */
  readonly onOutage: (error: StoreError | null) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * Which servers this broker owns: it renews its leases, sees what others have, claims its fair share of
 * what nobody has and gives what is above it. See `held-leases.ts` for how far a lease is believed.
 */
export class ServerOwnership {
  readonly #options: OwnershipOptions;
  readonly #leases: HeldLeases;
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
    this.#leases = new HeldLeases({ ...options, onFailed: (error) => this.#failed(error) });
  }

  /** Takes its share of the free servers once, and keeps it from then on. Rejects with StoreError. */
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
      setInterval(() => this.#leases.dropUntrusted(), tickMs),
      setInterval(() => this.#tick(), tickMs),
    ];
  }

  /** True while the lease is to be trusted, at this very moment. */
  owns(server: string): boolean {
    return this.#leases.owns(server);
  }

  /** True when it owns the server and is not giving it away. */
  keeps(server: string): boolean {
    return this.#leases.keeps(server);
  }

  get owned(): number {
    return this.#leases.count;
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
    if (this.#leases.has(server) || this.#isStopping) return;
    this.#noticed.add(server);
    if (this.#noticed.size > 1) return;
    setImmediate(() => {
      this.#lookAtNoticed().catch((error: unknown) => this.#failed(error));
    });
  }

  /** Looks at one server now. Rejects with StoreError. */
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
    this.#leases.changed(server);
  }

  /** Takes the lease when nobody has it. Rejects with StoreError. */
  async claim(server: string): Promise<boolean> {
    if (this.owns(server)) return true;
    if (this.#isStopping || this.owned >= this.limit) return false;
    await this.#acquire([server]);
    return this.owns(server);
  }

  /** The server is no more. */
  forget(server: string): void {
    this.#leases.forget(server);
  }

  /** Gives every server away, each as soon as its calls have ended. Resolves when nothing is held. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#options.presence.leave().catch((error: unknown) => this.#failed(error));
    await Promise.all(this.#leases.servers.map((server) => this.#leases.give(server)));
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
    await this.#leases.renew();
    if (!this.#isStopping) {
      await this.#look();
      await this.#claimShare();
      await this.#giveSurplus();
    }
    this.#lastRound = begun;
    if (this.#isOut) this.#options.onOutage(null);
    this.#isOut = false;
    this.#options.onRound();
    await this.#leases.tellStale();
  }

  async #look(): Promise<void> {
    const { presence, limit, directory } = this.#options;
    const servers = new Set(this.#options.servers());
    for (const server of this.#freeSince.keys())
      if (!servers.has(server)) this.#freeSince.delete(server);
    const owns = this.#leases.servers;
    const [brokers] = await Promise.all([
      presence.beat({ owned: owns.length, limit, servers: owns }),
      this.#lookAtAll([...servers].filter((server) => !this.#leases.has(server))),
    ]);
    this.#brokers = brokers;
    // Servers that stand in the file of another broker alone, and those that did until now.
    const foreign = new Set([...brokers.flatMap((broker) => broker.servers), ...directory.servers]);
    await this.#lookAtAll(
      [...foreign].filter((server) => !servers.has(server) && !this.#leases.has(server)),
    );
  }

  async #lookAtAll(looked: readonly string[]): Promise<void> {
    if (looked.length === 0) return;
    const seenAt = instant();
    const leases = await this.#options.store.look(looked);
    const seen = new Map(looked.map((server, index) => [server, leases[index] ?? null]));
    await this.#options.directory.update(seen, seenAt);
    const own = new Set(this.#options.servers());
    for (const [server, lease] of seen) {
      if (lease !== null || this.#leases.has(server)) this.#freeSince.delete(server);
      else if (own.has(server) && !this.#freeSince.has(server)) this.#freeSince.set(server, seenAt);
    }
  }

  async #lookAtNoticed(): Promise<void> {
    const servers = [...this.#noticed];
    this.#noticed.clear();
    await this.#lookAtAll(servers);
    await this.#claimShare();
  }

  async #claimShare(): Promise<void> {
    const { self, times, servers } = this.#options;
    const now = instant();
    const free = [...this.#freeSince].map(([server, since]) => ({
      server,
      freeForMs: elapsedMs(since, now),
    }));
    const wanted = serversToClaim({
      self,
      brokers: this.#brokersNow(),
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
    await this.#leases.acquire(servers);
    for (const server of servers) this.#freeSince.delete(server);
  }

  async #giveSurplus(): Promise<void> {
    const { self, rebalanceMs, presence, isIdle } = this.#options;
    if (this.#leases.isLeaving || !shouldGiveOne({ self, brokers: this.#brokersNow() })) {
      this.#unevenSince = null;
      return;
    }
    this.#unevenSince ??= instant();
    // A broker that only restarts is not worth a move: the difference has to last.
    if (elapsedMs(this.#unevenSince, instant()) < rebalanceMs / 2) return;
    const idle = this.#leases.servers.find((server) => isIdle(server));
    if (idle === undefined || !(await presence.takeTurn(rebalanceMs))) return;
    void this.#leases.give(idle);
  }

  /** The brokers that there are, this one with what it has now. */
  #brokersNow(): readonly BrokerShare[] {
    const { self, limit } = this.#options;
    return this.#brokers.map((broker) =>
      broker.id === self ? { id: self, owned: this.owned, limit } : broker,
    );
  }

  #failed(error: unknown): void {
    if (!(error instanceof StoreError)) return this.#options.onFault(error);
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
