import type { NatsConnection } from "@nats-io/transport-node";
import { ServiceError } from "@switchyard/contracts/errors";
import type { Bus } from "./bus.ts";
import type { Outcome } from "./arrival.ts";
import type { ClaimCheck } from "./claim-check.ts";
import type { DeadlineWheel } from "./deadline-wheel.ts";
import type { Delegation } from "./delegation.ts";
import type { ClientCall, Next } from "./interceptor.ts";
import type { LocalServices } from "./local-services.ts";
import type { Outbox } from "./outbox.ts";
import type { PendingReplies } from "./pending-replies.ts";
import type { ReplyInbox } from "./reply-inbox.ts";
import type { StoreWatch } from "./store-watch.ts";

/** A part of the bus that receives work: a service, a consumer, a live subscription. A drain stops all of them. */
export interface Receiver {
  stop(deadlineMs: number): Promise<void>;
  /** The connection is closed for good, and no reply can be sent any more. */
  closed(): void;
}

/** Notified of every loss and return of the connection. */
export interface ConnectionListener {
  disconnected(): void;
  reconnected(): void;
  /** The server refused a message of this connection on this subject. */
  publishRefused(subject: string): void;
}

/** The state of a bus that is internal to this package. */
export interface Connection {
  readonly nc: NatsConnection;
  readonly user: string;
  readonly inboxPrefix: string;
  readonly delegation: Delegation;
  readonly deadlines: DeadlineWheel;
  readonly outbox: Outbox;
  readonly replies: ReplyInbox;
  /** The waits for outcomes of services of the same process. */
  readonly localReplies: PendingReplies<Outcome>;
  /** The endpoints of this process; null for a bus that reaches everything over NATS. */
  readonly local: LocalServices | null;
  /** Detects streams that do not answer. */
  readonly stores: StoreWatch;
  readonly claims: ClaimCheck;
  readonly receivers: Set<Receiver>;
  readonly listeners: Set<ConnectionListener>;
  isConnected(): boolean;
  /** True when the bus was closed for good. */
  isClosed(): boolean;
  /** Executes a call: the bus's own interceptors, and after them NATS. */
  readonly send: Next<ClientCall>;
}

const connections = new WeakMap<Bus, Connection>();

/** Hides the internals of a bus from its users. */
export function registerConnection(bus: Bus, connection: Connection): void {
  connections.set(bus, connection);
}

/** The connection behind a bus. Throws a TypeError for an object that `connectBus` did not make, and `needs_nats` for a carried bus. */
export function connectionOf(bus: Bus): Connection {
  const connection = connections.get(bus);
  if (connection !== undefined) return connection;
  if (bus.carrier === undefined) throw new TypeError("this bus was not made by connectBus()");
  throw needsNats();
}

/** The error for what only a connection to NATS can do. */
export function needsNats(): ServiceError {
  return new ServiceError(
    "needs_nats",
    "this needs a connection to NATS, and the gateway has none to give",
  );
}
