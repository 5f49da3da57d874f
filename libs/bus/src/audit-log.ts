import { jetstreamManager, type StoredMsg } from "@nats-io/jetstream";
import { HEADERS } from "@switchyard/contracts/headers";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";
import { parseJson } from "./wire.ts";

/** A message of the audit as it is stored, whatever its publisher. */
export interface StoredAudit {
  readonly subject: string;
  /** The JSON value; null when it cannot be read. */
  readonly payload: unknown;
  readonly sequence: number;
  readonly time: Date;
}

/** The bounds of the audit, as the stream reports them. */
export interface AuditBounds {
  readonly first: number;
  readonly last: number;
  /** Messages between the two that were deleted. */
  readonly missing: number;
  readonly firstTime: Date;
  readonly maxAgeMs: number;
}

export interface ReadAuditOptions {
  readonly from: { readonly sequence: number } | { readonly time: Date };
  /** Ends after this message. */
  readonly upTo: number;
  readonly signal?: AbortSignal;
}

/** Messages in one answer of the server, and their bytes. */
const BATCH = 200;
const BATCH_BYTES = 8 * 1024 * 1024;
const NOTHING_THERE = 404;

/**
 * Returns the first and the last sequence of the audit. Rejects with a ServiceError when the stream is missing or may not be read:
 * only the users `auditor` and `admin` may.
 */
export async function auditBounds(bus: Bus): Promise<AuditBounds> {
  return orUnavailable(connectionOf(bus), async ({ nc }) => {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const { state, config } = await manager.streams.info(STREAM_NAMES.audit);
    const { first_seq: first, last_seq: last, num_deleted: missing } = state;
    const maxAgeMs = config.max_age / 1_000_000; // from nanoseconds
    return { first, last, missing, firstTime: new Date(state.first_ts), maxAgeMs };
  });
}

/** Returns the used share of the stream, from 0 to 1. Rejects with a ServiceError; every user that may write to the audit may call it. */
export async function auditFill(bus: Bus): Promise<number> {
  return orUnavailable(connectionOf(bus), async ({ nc }) => {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const { state, config } = await manager.streams.info(STREAM_NAMES.audit);
    return config.max_bytes > 0 ? state.bytes / config.max_bytes : 0;
  });
}

/**
 * Yields the messages of the audit in their order. They are read by direct get, which creates nothing on the server and sends to no other
 * subscriber. Errors as for {@link auditBounds}.
 */
export async function* readAudit(
  bus: Bus,
  { from, upTo, signal }: ReadAuditOptions,
): AsyncGenerator<StoredAudit, void, undefined> {
  const connection = connectionOf(bus);
  let start: { seq: number } | { start_time: Date } =
    "sequence" in from ? { seq: Math.max(1, from.sequence) } : { start_time: from.time };
  for (;;) {
    if (isAborted(signal) || ("seq" in start && start.seq > upTo)) return;
    const batch = await batchOf(connection, start);
    for (const message of batch) {
      if (message.seq > upTo) return;
      yield storedAudit(message);
    }
    const last = batch.at(-1);
    if (last === undefined) return;
    start = { seq: last.seq + 1 };
  }
}

async function batchOf(
  connection: Connection,
  start: { seq: number } | { start_time: Date },
): Promise<StoredMsg[]> {
  return orUnavailable(connection, async ({ nc }) => {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const limits = { batch: BATCH, max_bytes: BATCH_BYTES };
    const messages: StoredMsg[] = [];
    const answer = await manager.direct.getBatch(STREAM_NAMES.audit, { ...start, ...limits });
    try {
      for await (const message of answer) messages.push(message);
    } catch (error) {
      // The server reports so that no message follows.
      const isEnd = error instanceof Error && "code" in error && error.code === NOTHING_THERE;
      if (!isEnd) throw error;
    }
    return messages;
  });
}

/** A message that was stored by claim check is not a record: records are never that large. */
function storedAudit(message: StoredMsg): StoredAudit {
  const isClaimed = message.header.get(HEADERS.claim) !== "";
  const body = isClaimed ? null : parseJson(message.string());
  return {
    subject: message.subject,
    payload: body?.ok === true ? body.value : null,
    sequence: message.seq,
    time: message.time,
  };
}

async function orUnavailable<T>(
  connection: Connection,
  ask: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    return await ask(connection);
  } catch (error) {
    throw infrastructureError(error, connection.user, `stream ${STREAM_NAMES.audit}`);
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
