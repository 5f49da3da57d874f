import { ServiceError } from "@switchyard/contracts/errors";
import { eventConsumersOf, MAX_EVENT_CONSUMERS } from "@switchyard/topology/event-consumers";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import { readsAllEvents } from "@switchyard/contracts/user-names";
import { nanos } from "@nats-io/transport-node";
import type { Connection } from "./connection.ts";
import type { EventPlace } from "./event-place.ts";
import { jetStreamError, type ApiError } from "./infrastructure-errors.ts";
import { randomHex } from "./random-hex.ts";
import { parseObject } from "./wire.ts";

/** The start of a consumer: a sequence of the stream, a time by the server's clock, or the end of what is stored now. */
export type EventStart = { readonly sequence: number } | { readonly timeMs: number } | "now";

/** A consumer of events that the server made for one reader. */
export interface EventConsumer {
  readonly name: string;
  /** Stored events that the filters select, when it was made. */
  readonly pending: number;
  /** The last sequence that it leaves out, and when it was made by the server's clock. */
  readonly begin: EventPlace;
}

const CREATE = `$JS.API.CONSUMER.CREATE.${STREAM_NAMES.events}`;
const DELETE = `$JS.API.CONSUMER.DELETE.${STREAM_NAMES.events}`;
const NAME_TAKEN = 10_148;
const TIMEOUT_MS = 10_000;
/**
 * A cluster that has just lost a server may assign a consumer to that one, and then the server never answers, for the same name either: the
 * next attempt takes another name. A consumer that was made after all is removed after {@link UNUSED_MS}.
 */
const CREATE_ATTEMPTS = 3;
const CREATE_TIMEOUT_MS = 5_000;
/** The server removes a consumer without requests for that long, so that the name of a reader that died is free again soon. */
const UNUSED_MS = 10_000;
const MARK_DIGITS = 16;

/** `$JS.API.CONSUMER.CREATE`: https://docs.nats.io/reference/reference-protocols/nats_api_reference. */
interface Answer {
  readonly error?: ApiError;
  readonly created?: string;
  readonly num_pending?: number;
  readonly delivered?: { readonly stream_seq?: number };
}

/**
 * Makes a consumer of events under one of the names that this user may use: a team has {@link MAX_EVENT_CONSUMERS}, which
 * its readers in all processes share. Rejects with a ServiceError, with `overloaded` when all names are in use.
 */
export async function makeEventConsumer(
  connection: Connection,
  filters: readonly string[],
  start: EventStart,
): Promise<EventConsumer> {
  if (typeof start === "object" && "timeMs" in start && filters.length > 1)
    return makeEventConsumer(connection, filters, await sequenceAt(connection, start));
  // The server treats a request that repeats an existing configuration as the same one: no two readers share a name by accident.
  const description = `reader ${randomHex(MARK_DIGITS)}`;
  let unanswered = 0;
  for (const name of namesFor(connection.user)) {
    const answer = await create(connection, { name, description, filters, start });
    if (answer instanceof ServiceError) {
      unanswered += 1;
      if (unanswered === CREATE_ATTEMPTS) throw answer;
      continue;
    }
    if (answer.error?.err_code === NAME_TAKEN) continue;
    if (answer.error !== undefined)
      throw jetStreamError(`stream ${STREAM_NAMES.events}`, answer.error);
    const { num_pending: pending = 0, delivered, created = "" } = answer;
    const storedAtMs = Date.parse(created) || Date.now();
    return { name, pending, begin: { sequence: delivered?.stream_seq ?? 0, storedAtMs } };
  }
  throw allInUse(connection.user);
}

/**
 * Resolves the sequence at a time. With several filters nats-server begins at the first message of one of them, past messages of the others
 * (`selectStartingSeqNo` in its consumer.go): so it is queried without any filter, which every user that may set several filters may do.
 */
async function sequenceAt(
  connection: Connection,
  time: { readonly timeMs: number },
): Promise<{ sequence: number }> {
  const { name, begin } = await makeEventConsumer(connection, [], time);
  await deleteEventConsumer(connection, name);
  return { sequence: begin.sequence + 1 };
}

/** Frees the name of a consumer; without a connection, and when that fails, the server does it after some seconds. */
export async function deleteEventConsumer(connection: Connection, name: string): Promise<void> {
  if (!connection.isConnected()) return;
  const request = { subject: `${DELETE}.${name}`, body: "", timeoutMs: TIMEOUT_MS };
  await connection.replies.request(request).catch(() => null);
}

interface Wanted {
  readonly name: string;
  readonly description: string;
  readonly filters: readonly string[];
  readonly start: EventStart;
}

/** The server's answer, or the error of a request without an answer in time. */
async function create(
  { replies }: Connection,
  { name, description, filters, start }: Wanted,
): Promise<Answer | ServiceError> {
  const [filter = ""] = filters;
  // A single filter is part of the request's subject, where the server's permissions check it.
  const isSingle = filters.length === 1;
  const config = {
    name,
    description,
    ...(isSingle ? { filter_subject: filter } : { filter_subjects: filters }),
    ...policyOf(start),
    ack_policy: "none",
    max_deliver: -1,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(UNUSED_MS),
  };
  try {
    const answer = await replies.request({
      subject: isSingle ? `${CREATE}.${name}.${filter}` : `${CREATE}.${name}`,
      body: JSON.stringify({ stream_name: STREAM_NAMES.events, action: "create", config }),
      timeoutMs: CREATE_TIMEOUT_MS,
    });
    return parseObject(answer.string()) ?? {};
  } catch (error) {
    if (error instanceof ServiceError && error.code === "timeout") return error;
    throw error;
  }
}

function policyOf(start: EventStart): Readonly<Record<string, unknown>> {
  if (start === "now") return { deliver_policy: "new" };
  if ("sequence" in start)
    return { deliver_policy: "by_start_sequence", opt_start_seq: start.sequence };
  return { deliver_policy: "by_start_time", opt_start_time: new Date(start.timeMs).toISOString() };
}

/** A team's names from a random start, so that its readers seldom try each other's. */
function namesFor(user: string): string[] {
  if (readsAllEvents(user))
    return Array.from({ length: CREATE_ATTEMPTS }, () => `${user}-${randomHex(MARK_DIGITS)}`);
  const names = eventConsumersOf(user);
  const from = Math.floor(Math.random() * names.length);
  return [...names.slice(from), ...names.slice(0, from)];
}

function allInUse(user: string): ServiceError {
  return new ServiceError(
    "overloaded",
    `NATS user ${user} has ${MAX_EVENT_CONSUMERS} consumers of events, and that is the most: end a reader of events, or follow several runs with one (yard.evt.run.${user}.>); the consumer of a reader that died is gone after ${UNUSED_MS / 1_000} s`,
    { data: { limit: MAX_EVENT_CONSUMERS } },
  );
}
