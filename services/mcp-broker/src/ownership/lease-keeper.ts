import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "@switchyard/service/log";
import { StoreError } from "@switchyard/service/store-error";
import { serversToClaim, shouldGiveOne, type BrokerShare } from "./fair-share.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { LeaseStore, PresentBroker, SeenLease } from "./lease-store.ts";
import { elapsedMs, instant, type Instant } from "./lease-times.ts";
import type { ServedServers } from "./served-servers.ts";
import type { ServerLease } from "./server-lease.ts";
import { readServerState } from "./server-state.ts";

export interface LeaseKeeperOptions {
  readonly store: LeaseStore;
  readonly leases: KnownLeases;
  readonly served: Pick<
    ServedServers,
    "ids" | "textOf" | "isIdle" | "gained" | "lost" | "handOver" | "saidElsewhere"
  >;
  /** The most servers that this broker owns. */
  readonly limit: number;
  /** At most one server is moved between brokers in this time. */
  readonly rebalanceMs: number;
  /** Makes the other brokers read the server's lease. */
  readonly hint: (server: string) => void;
  /** Called when a round of reads from Redis succeeded. */
  readonly onRound: () => void;
  readonly log: Log;
}

/**
 * Maintains the leases of this broker: it renews them, reads those of the others, claims its fair share of the free servers and
 * hands over its surplus. `server-lease.ts` defines a lease and how long it is trusted.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #noticed = new Set<string>();
  #brokers: readonly PresentBroker[] = [];
  #lastRound: Instant | null = null;
  #isRunning = false;
  #isWanted = false;
  #isStopping = false;
  #isOut = false;
  #unevenSince: Instant | null = null;
  #timers: NodeJS.Timeout[] = [];
  #claimTimer: NodeJS.Timeout | undefined;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Claims its share of the free servers once, and maintains it from then on. Rejects with StoreError. */
  async start(): Promise<void> {
    const { tickMs, hesitationMs } = this.#options.leases.times;
    await this.#round();
    // Servers beyond the fair share are left to the others for a moment, and not for longer.
    if (this.#free().length > 0) {
      await delay(hesitationMs + 1);
      await this.#round();
    }
    // Two timers: a slow answer of Redis must not keep a lease from ending here in time.
    this.#timers = [
      setInterval(() => this.dropUntrusted(), tickMs),
      setInterval(() => this.#tick(), tickMs),
    ];
  }

  get owned(): number {
    return this.#options.leases.own.length;
  }

  get limit(): number {
    return this.#options.limit;
  }

  /** True for exactly one of the present brokers. */
  get isFirst(): boolean {
    return this.#brokers.every(({ id }) => id >= this.#options.leases.self);
  }

  /** The lease of a server that another broker had or has changed. */
  noticed(server: string): void {
    if (this.#options.leases.of(server).own !== null || this.#isStopping) return;
    this.#noticed.add(server);
    if (this.#noticed.size > 1) return;
    setImmediate(() => {
      this.#lookAtNoticed().catch((error: unknown) => this.#failed(error));
    });
  }

  /** Reads the current leases of the servers. Rejects with StoreError. */
  async lookAt(...servers: readonly string[]): Promise<void> {
    if (servers.length === 0) return;
    const { store, leases, served } = this.#options;
    const seenAt = instant();
    const seen = await store.look(servers);
    await Promise.all(
      servers.map(async (server, index) => {
        const lease = leases.of(server);
        const found = seen[index] ?? null;
        if (found !== null && found.stamp === lease.stamp)
          return lease.foundAgain(found.leftMs, seenAt);
        const wasElsewhere = lease.stamp !== null;
        if (found === null) lease.foundFree(seenAt);
        else await this.#read(lease, found, seenAt);
        if (found !== null || wasElsewhere) served.saidElsewhere(server);
      }),
    );
  }

  /** The servers changed. */
  nudge(): void {
    this.#lastRound = null;
    this.#tick();
  }

  /** The state that this broker published about an owned server is out of date. */
  changed(server: string): void {
    const lease = this.#options.leases.of(server);
    if (lease.own === null || lease.own.isStale) return;
    lease.own.isStale = true;
    this.#publishSoon(lease);
  }

  /** Claims the lease when it is free. Rejects with StoreError. */
  async claim(server: string): Promise<boolean> {
    const { leases, limit } = this.#options;
    if (leases.owns(server)) return true;
    if (this.#isStopping || this.owned >= limit) return false;
    await this.acquire([server]);
    return leases.owns(server);
  }

  /** Claims the leases that are free. Rejects with StoreError. */
  async acquire(servers: readonly string[]): Promise<void> {
    if (servers.length === 0) return;
    const { store, leases, served, hint } = this.#options;
    const sentAt = instant();
    const epochs = await store.acquire(servers, leases.times.leaseMs);
    for (const [index, server] of servers.entries()) {
      const epoch = epochs[index] ?? null;
      const lease = leases.of(server);
      if (epoch !== null) {
        lease.take(epoch, sentAt);
        served.gained(server);
        this.#publishSoon(lease);
        hint(server);
      } else if (lease.freeSince !== null) lease.end();
    }
  }

  /** Rejects with StoreError. */
  async renew(): Promise<void> {
    const { store, leases } = this.#options;
    const held = leases.own.flatMap((lease) =>
      lease.own === null ? [] : [{ lease, own: lease.own }],
    );
    const sentAt = instant();
    const kept = await store.renew(
      held.map(({ lease: { server }, own: { epoch } }) => ({ server, epoch })),
      leases.times.leaseMs,
    );
    for (const [index, { lease, own }] of held.entries()) {
      if (kept[index] === true) own.confirmed = sentAt;
      else if (lease.own === own) this.#drop(lease);
    }
  }

  /** Releases the leases that are no longer valid. */
  dropUntrusted(): void {
    for (const lease of this.#options.leases.own) if (!lease.isOwned) this.#drop(lease);
  }

  /** The server was removed. */
  forget(server: string): void {
    const { store, leases } = this.#options;
    const lease = leases.of(server);
    if (lease.own === null) return;
    const { epoch } = lease.own;
    lease.end();
    store.release({ server, epoch }).catch((error: unknown) => this.#failed(error));
  }

  /** Hands every server over, each as soon as its calls have ended. Resolves when nothing is held. */
  async stop(): Promise<void> {
    const { store, leases } = this.#options;
    this.#isStopping = true;
    await store.leave().catch((error: unknown) => this.#failed(error));
    await Promise.all(leases.own.map((lease) => this.#handOver(lease)));
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#claimTimer);
  }

  #tick(): void {
    if (this.#isRunning) {
      this.#isWanted = true;
      return;
    }
    const { renewMs } = this.#options.leases.times;
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
    await this.renew();
    if (!this.#isStopping) {
      await this.#lookAtAll();
      await this.#claimShare();
      await this.#giveSurplus();
    }
    this.#lastRound = begun;
    if (this.#isOut) this.#options.log.info("mcp leases can be renewed again");
    this.#isOut = false;
    this.#options.onRound();
    for (const lease of this.#options.leases.own) await this.#publish(lease);
  }

  async #lookAtAll(): Promise<void> {
    const { store, leases, served, limit } = this.#options;
    const declared = new Set(served.ids);
    leases.retain(declared);
    const isOwn = (server: string): boolean => leases.of(server).own !== null;
    const servers = leases.own.map(({ server }) => server);
    const load = { owned: servers.length, limit, servers };
    const [brokers] = await Promise.all([
      store.beat(load, leases.times.leaseMs),
      this.lookAt(...[...declared].filter((server) => !isOwn(server))),
    ]);
    this.#brokers = brokers;
    // Servers that only another broker's file names, and those that one named until now.
    const foreign = new Set([...brokers.flatMap((broker) => broker.servers), ...leases.elsewhere]);
    await this.lookAt(...[...foreign].filter((server) => !declared.has(server) && !isOwn(server)));
  }

  async #lookAtNoticed(): Promise<void> {
    const servers = [...this.#noticed];
    this.#noticed.clear();
    await this.lookAt(...servers);
    await this.#claimShare();
  }

  async #read(lease: ServerLease, found: SeenLease, seenAt: Instant): Promise<void> {
    const { store, leases } = this.#options;
    const { owner, leftMs } = found;
    const read = owner === leases.self ? null : await store.read(lease.server);
    const says = read === null ? null : await readServerState(read.text);
    lease.foundElsewhere({ owner, stamp: read?.stamp ?? found.stamp, seenAt, leftMs, says });
  }

  /** Declared servers without an owner, with the time since this was seen. */
  #free() {
    const { leases, served } = this.#options;
    const now = instant();
    return served.ids.flatMap((server) => {
      const { freeSince } = leases.of(server);
      return freeSince === null ? [] : [{ server, freeForMs: elapsedMs(freeSince, now) }];
    });
  }

  async #claimShare(): Promise<void> {
    const { leases, served } = this.#options;
    const free = this.#free();
    const wanted = serversToClaim({
      self: leases.self,
      brokers: this.#brokersNow(),
      free: shuffled(free),
      total: served.ids.length,
      hesitationMs: leases.times.hesitationMs,
    });
    await this.acquire(wanted);
    this.#planNextClaim(free.length > wanted.length);
  }

  /** Rechecks when the next lease of another broker ends, or when the hesitation is over. */
  #planNextClaim(isHesitating: boolean): void {
    const { leases, served } = this.#options;
    const { hesitationMs, jitterMs, leaseMs } = leases.times;
    const left = served.ids
      .filter((server) => leases.ownerOf(server) !== null)
      .map((server) => leases.leftMs(server));
    const next = Math.min(...left, isHesitating ? hesitationMs : Infinity);
    clearTimeout(this.#claimTimer);
    if (next > leaseMs || this.#isStopping) return;
    this.#claimTimer = setTimeout(() => this.nudge(), next + 1 + jitterMs * Math.random());
  }

  async #giveSurplus(): Promise<void> {
    const { leases, rebalanceMs, store, served } = this.#options;
    const isLeaving = leases.own.some(({ own }) => own?.isLeaving === true);
    if (isLeaving || !shouldGiveOne({ self: leases.self, brokers: this.#brokersNow() })) {
      this.#unevenSince = null;
      return;
    }
    this.#unevenSince ??= instant();
    // A broker that only restarts is not worth a move: the difference has to last.
    if (elapsedMs(this.#unevenSince, instant()) < rebalanceMs / 2) return;
    const idle = leases.own.find(({ server }) => served.isIdle(server));
    if (idle === undefined || !(await store.takeTurn(rebalanceMs))) return;
    void this.#handOver(idle);
  }

  /** The present brokers, this one with its current number of servers. */
  #brokersNow(): readonly BrokerShare[] {
    const { limit, leases } = this.#options;
    return this.#brokers.map((broker) =>
      broker.id === leases.self ? { id: broker.id, owned: this.owned, limit } : broker,
    );
  }

  /** Hands over a server when its calls have ended; never rejects. */
  async #handOver(lease: ServerLease): Promise<void> {
    const { own, server } = lease;
    if (own === null) return;
    const { store, served, hint } = this.#options;
    own.isLeaving = true;
    try {
      await served.handOver(server);
      if (lease.own === own) lease.end();
      await store.release({ server, epoch: own.epoch });
      hint(server);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Published after this turn: one event changes several things. */
  #publishSoon(lease: ServerLease): void {
    setImmediate(() => {
      this.#publish(lease).catch((error: unknown) => this.#failed(error));
    });
  }

  /** Writes the state that the others read of an owned server, where it has changed. */
  async #publish({ server, own }: ServerLease): Promise<void> {
    if (own === null || !own.isStale) return;
    const { store, served, hint } = this.#options;
    own.isStale = false;
    own.version += 1;
    const { epoch, version } = own;
    try {
      await store.write({ server, epoch }, { version, text: await served.textOf(server) });
    } catch (error) {
      own.isStale = true;
      throw error;
    }
    hint(server);
  }

  #drop(lease: ServerLease): void {
    lease.end();
    this.#options.served.lost(lease.server);
  }

  /** Logs an error of background work. An outage of Redis is logged once, and its end. */
  #failed(err: unknown): void {
    const { log } = this.#options;
    if (!(err instanceof StoreError)) return log.error({ err }, "mcp ownership fault");
    if (!this.#isOut) log.warn({ err }, "mcp leases cannot be renewed");
    this.#isOut = true;
  }
}

/** Each broker has an order of its own, so that two do not claim the same servers first. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
