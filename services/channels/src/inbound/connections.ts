import { backoffMs } from "@switchyard/contracts/backoff";
import type { Log } from "@switchyard/service/log";
import { startRounds, type Rounds } from "@switchyard/service/rounds";
import type { Lease } from "@switchyard/service/redis-lease";
import type { Account } from "../accounts/accounts.ts";
import type { AccountLeases } from "../accounts/account-leases.ts";
import type {
  ButtonPress,
  InboundSink,
  IncomingMessage,
  PressAnswer,
} from "../adapters/adapter.ts";
import type { ReceivedMessage } from "./receive-message.ts";

export interface ConnectionsOptions {
  readonly leases: AccountLeases;
  readonly leaseMs: number;
  readonly log: Log;
  readonly takeIn: (
    account: Account,
    from: { readonly message: IncomingMessage; readonly lease: Lease | null },
  ) => Promise<ReceivedMessage>;
  readonly press: (account: Account, press: ButtonPress) => Promise<PressAnswer>;
}

export interface InboundState {
  readonly inbound: "connected" | "connecting" | "standby" | "error" | "none";
  readonly problem: string | null;
}

interface Connection {
  readonly account: Account;
  lease: Lease | null;
  /** The time at which the last renewal that Redis confirmed was sent, by a monotonic clock. */
  confirmedAt: number;
  open: AbortController | null;
  state: InboundState;
  failures: number;
  /** Before that it is not tried again. */
  restUntil: number;
}

/** The part of the lease's time for which a replica relies on it; the rest covers clock rates that differ. */
const TRUSTED_SHARE = 2 / 3;
const BACKOFF = { firstMs: 1_000, mostMs: 60_000 };
const NONE: InboundState = { inbound: "none", problem: null };
const STANDBY: InboundState = { inbound: "standby", problem: null };

/** Inbound connections of accounts, each in one replica at most. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #connections = new Map<string, Connection>();
  readonly #rounds: Rounds;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#rounds = startRounds({
      everyMs: options.leaseMs / 6,
      round: () => this.#lookAtAll(),
      onError: (err) => options.log.error({ err }, "inbound connections not looked at"),
    });
  }

  stateOf({ name }: Account): InboundState {
    return this.#connections.get(name)?.state ?? NONE;
  }

  /** The lease, as long as it is to be trusted. */
  leaseOf(name: string): Lease | null {
    const connection = this.#connections.get(name);
    return connection !== undefined && this.#isTrusted(connection) ? connection.lease : null;
  }

  add(account: Account): void {
    if (account.adapter.start === undefined) return;
    this.#connections.set(account.name, {
      account,
      lease: null,
      confirmedAt: 0,
      open: null,
      state: STANDBY,
      failures: 0,
      restUntil: 0,
    });
    this.tick();
  }

  async remove({ name }: Account): Promise<void> {
    const connection = this.#connections.get(name);
    if (connection === undefined) return;
    this.#connections.delete(name);
    connection.open?.abort();
    if (connection.lease !== null)
      await this.#options.leases.give(name, connection.lease).catch(() => {}); // it ends by itself
  }

  tick(): void {
    void this.#rounds.wake();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await Promise.all([...this.#connections.values()].map(({ account }) => this.remove(account)));
  }

  /** Never rejects. */
  async #lookAtAll(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((one) => this.#look(one)));
  }

  /** Never rejects. */
  async #look(connection: Connection): Promise<void> {
    const { leases, log } = this.#options;
    const { name } = connection.account;
    const sentAt = performance.now();
    try {
      const lease = await leases.take(name, connection.lease);
      if (lease === null || lease.epoch !== connection.lease?.epoch) this.#close(connection);
      connection.lease = lease;
      connection.confirmedAt = sentAt;
    } catch (err) {
      log.warn({ err, account: name }, "lease of an account not renewed");
    }
    if (!this.#isTrusted(connection)) this.#close(connection);
    else if (connection.open === null && performance.now() >= connection.restUntil)
      this.#open(connection);
  }

  #isTrusted({ lease, confirmedAt }: Connection): boolean {
    return (
      lease !== null && performance.now() - confirmedAt < this.#options.leaseMs * TRUSTED_SHARE
    );
  }

  #close(connection: Connection): void {
    connection.open?.abort();
    connection.open = null;
    connection.state = STANDBY;
  }

  #open(connection: Connection): void {
    const { account } = connection;
    const open = new AbortController();
    connection.open = open;
    connection.state = { inbound: "connecting", problem: null };
    const lost = (problem: string): void => this.#failed(connection, open, problem);
    const sink: InboundSink = {
      accept: async (message) => {
        const lease = this.leaseOf(account.name);
        if (open.signal.aborted || lease === null)
          throw new Error(`the inbound connection of ${account.name} is another replica's`);
        return (await this.#options.takeIn(account, { message, lease })).outcome;
      },
      press: (press) => {
        if (open.signal.aborted)
          throw new Error(`the inbound connection of ${account.name} is another replica's`);
        return this.#options.press(account, press);
      },
      state: (inbound, problem) => {
        if (open.signal.aborted) return;
        connection.failures = inbound === "connected" ? 0 : connection.failures;
        connection.state = {
          inbound,
          problem: problem === undefined ? null : account.redact(problem),
        };
      },
      lost,
    };
    Promise.resolve(account.adapter.start?.(sink, open.signal)).catch((error: unknown) =>
      lost(error instanceof Error ? error.message : String(error)),
    );
  }

  #failed(connection: Connection, open: AbortController, problem: string): void {
    if (connection.open !== open) return;
    open.abort();
    connection.open = null;
    connection.failures += 1;
    const waitMs = backoffMs(connection.failures, BACKOFF);
    connection.restUntil = performance.now() + waitMs;
    const said = connection.account.redact(problem);
    connection.state = { inbound: "error", problem: said };
    const { name } = connection.account;
    this.#options.log.warn({ account: name, problem: said, waitMs }, "no inbound connection");
  }
}
