import type { Bus, BusStatus } from "./bus.ts";
import { JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import {
  AuthorizationError,
  PermissionViolationError,
  TimeoutError,
  UserAuthenticationExpiredError,
  type Authenticator,
  type NatsConnection,
  type Status,
} from "@nats-io/transport-node";
import { ServiceError } from "@switchyard/contracts/errors";
import { ClaimCheck } from "./claim-check.ts";
import { connectClient } from "./client-transport.ts";
import { registerConnection, type Connection } from "./connection.ts";
import { DeadlineWheel } from "./deadline-wheel.ts";
import { NO_DELEGATION, type Delegation } from "./delegation.ts";
import { answerLost } from "./infrastructure-errors.ts";
import { chained, type ClientInterceptor } from "./interceptor.ts";
import { flushConnection } from "./drain-subscription.ts";
import { isUserSeed, seedAuthenticator } from "./keys.ts";
import { localCalls } from "./local-calls.ts";
import type { LocalServices } from "./local-services.ts";
import { callOverNats } from "./nats-call.ts";
import { Outbox } from "./outbox.ts";
import { PendingReplies } from "./pending-replies.ts";
import { ReplyInbox } from "./reply-inbox.ts";
import { StoreWatch } from "./store-watch.ts";
import { tracedCalls } from "./traced-calls.ts";

export interface BusOptions {
  /** `nats://127.0.0.1:4222`, several separated by commas. */
  readonly servers: string;
  /** This client's NATS user: the `{caller}` token of everything it sends. */
  readonly user: string;
  /** The prefix of its reply subjects; only `_INBOX_{user}` (the default) is granted in production. */
  readonly inboxPrefix?: string;
  /** Reads the NKey seed; called at each connect, so that a key can be replaced while the bus runs. */
  readonly nkeySeed?: () => string | Promise<string>;
  /** The endpoints of this process: calls to them do not leave it. The host of several services passes it to each of their buses. */
  readonly local?: LocalServices | undefined;
  /** The senders that act for another user; by default none does. */
  readonly delegation?: Delegation;
  /** The whole time for the first connection, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Called on every status change, and, with an unchanged status, for each operation that the server refuses. */
  readonly onStatus?: (status: BusStatus, detail: string) => void;
  /** Called when a stream stops storing messages, and when it stores them again. */
  readonly onStored?: (stream: string, isStored: boolean) => void;
}

const OLDEST_SERVER = { major: 2, minor: 14 };
/** nats-server's `JSClusterNotAvailErr`. */
const TEMPORARILY_UNAVAILABLE = 10_008;
const CONNECT_TIMEOUT_MS = 10_000;
const ATTEMPT_TIMEOUT_MS = 5_000;
const RETRY_MS = { first: 100, most: 1_000 };
const RECONNECT_MS = { least: 200, spread: 300 };
const PING_INTERVAL_MS = 10_000;
const DRAIN_MS = 20_000;

/**
 * Connects to NATS and checks that the server can carry the bus. The first connection is tried
 * again until its time is over, also while JetStream has no leader; afterwards the bus reconnects without end.
 *
 * Rejects with a ServiceError: `disconnected` when no server answers, or none for JetStream, `forbidden` when the
 * credentials are refused or another user's (at once), `unsupported_server` below 2.14, `jetstream_disabled`.
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  return new NatsBus(await connectWithRetries(options), options);
}

class NatsBus implements Bus {
  readonly user: string;
  readonly #nc: NatsConnection;
  readonly #connection: Connection;
  readonly #onStatus: (status: BusStatus, detail: string) => void;
  #status: BusStatus = "connected";
  #serverVersion: string;
  #maxPayload: number;
  #draining: Promise<void> | null = null;

  constructor(nc: NatsConnection, options: BusOptions) {
    this.user = options.user;
    this.#nc = nc;
    this.#onStatus = options.onStatus ?? (() => {});
    this.#serverVersion = nc.info?.version ?? "";
    this.#maxPayload = nc.info?.max_payload ?? 0;
    this.#connection = this.#createConnection(options);
    registerConnection(this, this.#connection);
    void this.#watch();
  }

  get status(): BusStatus {
    return this.#status;
  }

  get serverVersion(): string {
    return this.#serverVersion;
  }

  get loneServer(): string | null {
    const { info } = this.#nc;
    return info === undefined || info.cluster !== undefined ? null : info.server_id;
  }

  get maxPayload(): number {
    return this.#maxPayload;
  }

  get silentStreams(): readonly string[] {
    return this.#connection.stores.silent();
  }

  async flush(): Promise<void> {
    this.#connection.outbox.flush();
    await this.#nc.flush();
  }

  drain(deadlineMs: number = DRAIN_MS): Promise<void> {
    this.#draining ??= this.#drain(deadlineMs);
    return this.#draining;
  }

  async close(): Promise<void> {
    this.#connection.outbox.flush();
    await this.#nc.close();
    this.#closed("closed by this process");
  }

  async #drain(deadlineMs: number): Promise<void> {
    if (this.#status === "closed") return;
    await Promise.all([...this.#connection.receivers].map((receiver) => receiver.stop(deadlineMs)));
    // While the server is away there is nothing to flush to, and waiting would use up the process's time.
    this.#connection.outbox.flush();
    if (this.#status === "connected") await flushConnection(this.#nc);
    await this.close();
  }

  #createConnection(options: BusOptions): Connection {
    const inboxPrefix = options.inboxPrefix ?? `_INBOX_${options.user}`;
    const deadlines = new DeadlineWheel();
    const outbox = new Outbox(this.#nc);
    const stores = new StoreWatch(() => performance.now(), options.onStored);
    const replies = new ReplyInbox(this.#nc, {
      user: options.user,
      inboxPrefix,
      deadlines,
      outbox,
    });
    const { local = null, user } = options;
    const interceptors = (): ClientInterceptor[] =>
      local === null ? [tracedCalls(user)] : [tracedCalls(user), localCalls(connection, local)];
    const connection: Connection = {
      nc: this.#nc,
      user: options.user,
      inboxPrefix,
      delegation: options.delegation ?? NO_DELEGATION,
      deadlines,
      outbox,
      replies,
      localReplies: new PendingReplies(deadlines),
      local,
      stores,
      claims: new ClaimCheck(replies, stores, () => this.#maxPayload),
      receivers: new Set(),
      listeners: new Set(),
      isConnected: () => this.#status === "connected",
      isClosed: () => this.#status === "closed",
      send: (call) => carry(call),
    };
    const carry = chained(interceptors(), (call) => callOverNats(connection, call));
    return connection;
  }

  async #watch(): Promise<void> {
    for await (const status of this.#nc.status()) this.#take(status);
    this.#closed("the connection ended");
  }

  #take(status: Status): void {
    switch (status.type) {
      case "disconnect":
        this.#change("reconnecting", `lost ${status.server}`);
        this.#connection.stores.forgetAll();
        for (const listener of this.#connection.listeners) listener.disconnected();
        break;
      case "reconnect":
        this.#serverVersion = this.#nc.info?.version ?? this.#serverVersion;
        this.#maxPayload = this.#nc.info?.max_payload ?? this.#maxPayload;
        this.#change("connected", `connected to ${status.server}`);
        for (const listener of this.#connection.listeners) listener.reconnected();
        break;
      case "error":
        this.#refused(status.error);
        break;
      default:
        break;
    }
  }

  #refused(error: Error): void {
    if (error instanceof PermissionViolationError) {
      this.#connection.replies.refuse(error);
      if (error.operation === "publish") {
        for (const listener of this.#connection.listeners) listener.publishRefused(error.subject);
      }
    }
    this.#onStatus(this.#status, error.message);
  }

  #closed(detail: string): void {
    if (this.#status === "closed") return;
    for (const receiver of this.#connection.receivers) receiver.closed();
    this.#connection.replies.close();
    for (const pending of this.#connection.localReplies.values())
      pending.fail(answerLost(pending.subject));
    this.#connection.deadlines.stop();
    this.#change("closed", detail);
  }

  #change(status: BusStatus, detail: string): void {
    if (this.#status === status || this.#status === "closed") return;
    this.#status = status;
    this.#onStatus(status, detail);
  }
}

async function connectWithRetries(options: BusOptions): Promise<NatsConnection> {
  const budgetMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const giveUpAt = performance.now() + budgetMs;
  let pauseMs = RETRY_MS.first;
  for (;;) {
    const leftMs = giveUpAt - performance.now();
    try {
      return await connectOnce(options, Math.max(1, Math.min(leftMs, ATTEMPT_TIMEOUT_MS)));
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (isRefusal(error)) throw refused(options, error);
      if (giveUpAt - performance.now() <= pauseMs)
        throw unreachable(options.servers, budgetMs, error);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * 2, RETRY_MS.most);
  }
}

async function connectOnce(options: BusOptions, timeoutMs: number): Promise<NatsConnection> {
  const nc = await connectClient({
    servers: options.servers.split(",").map((server) => server.trim()),
    name: options.user,
    inboxPrefix: options.inboxPrefix ?? `_INBOX_${options.user}`,
    ...(await loginOf(options)),
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => RECONNECT_MS.least + Math.random() * RECONNECT_MS.spread,
    // A server that restarts with other keys first refuses and later accepts: never give up on it.
    ignoreAuthErrorAbort: true,
    pingInterval: PING_INTERVAL_MS,
    noAsyncTraces: true,
  });
  try {
    checkVersion(nc, options.servers);
    await checkJetStream(nc, options, timeoutMs);
    return nc;
  } catch (error) {
    await nc.close();
    throw error;
  }
}

async function loginOf({ user, nkeySeed }: BusOptions): Promise<{ authenticator?: Authenticator }> {
  if (nkeySeed === undefined) return {};
  const seed = await nkeySeed();
  if (isUserSeed(seed)) return { authenticator: seedAuthenticator(seed, nkeySeed) };
  throw new ServiceError(
    "forbidden",
    `what NATS user ${user} is to log in with is not the NKey seed of a user: that is one line that begins with SU`,
  );
}

function isRefusal(error: unknown): boolean {
  if (error instanceof UserAuthenticationExpiredError) return true;
  // The client's class has this, too: the login of a busy process came too late for the server, which waits 2 s for it by default.
  return error instanceof AuthorizationError && !/authentication timeout/i.test(error.message);
}

function refused(options: BusOptions, cause: unknown): ServiceError {
  const how = options.nkeySeed === undefined ? "without an NKey" : "with its NKey";
  return new ServiceError(
    "forbidden",
    `NATS at ${withoutSecrets(options.servers)} refused user ${options.user} ${how}: check the seed and the server's users`,
    { cause },
  );
}

function unreachable(servers: string, budgetMs: number, cause: unknown): ServiceError {
  const reason = cause instanceof Error ? rootMessage(cause) : String(cause);
  return new ServiceError(
    "disconnected",
    `cannot reach NATS at ${withoutSecrets(servers)} within ${budgetMs} ms (${reason}): check the address and that nats-server runs`,
    { cause },
  );
}

/** JetStream is not disabled, and cannot answer now. */
class JetStreamUnready extends Error {
  constructor(reason: unknown) {
    super(`JetStream does not answer: ${String(reason)}; a cluster needs most of its servers`);
  }
}

function rootMessage(error: Error): string {
  const text = error.cause instanceof Error ? rootMessage(error.cause) : error.message;
  return text === "" ? error.name : text;
}

function checkVersion(nc: NatsConnection, servers: string): void {
  const version = nc.info?.version ?? "unknown";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNewEnough =
    major > OLDEST_SERVER.major || (major === OLDEST_SERVER.major && minor >= OLDEST_SERVER.minor);
  if (isNewEnough) return;
  throw new ServiceError(
    "unsupported_server",
    `nats-server ${version} at ${withoutSecrets(servers)} is too old: 2.14 or newer is needed`,
  );
}

/**
 * The first request: it shows whether JetStream is there, and whether replies to this user may reach this process. Rejects with another error than a
 * ServiceError while JetStream cannot answer.
 */
async function checkJetStream(
  nc: NatsConnection,
  { servers, user }: BusOptions,
  timeoutMs: number,
): Promise<void> {
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false, timeout: timeoutMs });
    await manager.getAccountInfo();
  } catch (cause) {
    if (isWithoutLeader(cause) || nc.isClosed()) throw new JetStreamUnready(cause);
    if (isForeignInbox(cause)) {
      throw new ServiceError(
        "forbidden",
        `NATS at ${withoutSecrets(servers)} takes this client for another user than ${user}: it may not receive the replies to ${user}`,
        { cause },
      );
    }
    throw new ServiceError(
      "jetstream_disabled",
      `NATS at ${withoutSecrets(servers)} does not answer for JetStream: start nats-server with a jetstream block, and let this user publish $JS.API.INFO`,
      { cause },
    );
  }
}

/** A server of a cluster that has elected no leader yet does not answer, or answers that JetStream is temporarily unavailable. */
function isWithoutLeader(error: unknown): boolean {
  const isUnavailable =
    error instanceof JetStreamApiError && error.code === TEMPORARILY_UNAVAILABLE;
  return isUnavailable || error instanceof TimeoutError;
}

function isForeignInbox(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof PermissionViolationError && cause.operation === "subscription";
}

/** A server URL may carry a password, even one that is not encoded as it should be; messages end up in logs. */
function withoutSecrets(servers: string): string {
  return servers
    .split(/,(?=\s*[a-z]+:\/\/)/i)
    .map((server) => server.replace(/^(\s*(?:[a-z]+:\/\/)?).*@/is, "$1"))
    .join(",");
}
