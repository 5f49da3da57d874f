import {
  JetStreamApiError,
  jetstreamManager,
  type MsgRequest,
  type NextMsgRequest,
  type StoredMsg,
} from "@nats-io/jetstream";
import { STREAM_NAMES, streamTaking } from "@switchyard/contracts/stream-names";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import type { EventPlace } from "./event-place.ts";
import { infrastructureError } from "./infrastructure-errors.ts";

/**
 * The payload of the last event of a subject that readers have, as JSON text; null when there is none. An event outside the journals
 * appears there some milliseconds after its publisher got the acknowledgement. Rejects with a ServiceError.
 */
export async function lastEventText(bus: Bus, subject: string): Promise<string | null> {
  const found = await lastMessage(bus, STREAM_NAMES.events, subject);
  return found === null ? null : new TextDecoder().decode(found.data);
}

/** The place of the last event that was stored, of whatever subject; its sequence is 0 when none was. Rejects with a ServiceError. */
export async function lastEventPlace(bus: Bus): Promise<EventPlace> {
  const { nc, user } = connectionOf(bus);
  const name = STREAM_NAMES.events;
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const { last_seq: sequence, last_ts: time } = (await manager.streams.info(name)).state;
    // A stream that never had any event reports the year 1 as its time.
    return { sequence, storedAtMs: Math.max(0, Date.parse(time)) };
  } catch (error) {
    throw infrastructureError(error, user, name);
  }
}

/** Returns the time at which the oldest event in the stream was stored; null when there is none. Rejects with a ServiceError. */
export async function oldestEventTime(bus: Bus): Promise<Date | null> {
  const found = await storedMessage(bus, STREAM_NAMES.events, { seq: 1, next_by_subj: ">" });
  return found === null ? null : new Date(found.timestamp);
}

/**
 * Returns the time at which the newest event in the stream was stored, by the server's clock; null when there is none. Rejects with a
 * ServiceError.
 */
export async function newestEventTime(bus: Bus): Promise<Date | null> {
  const found = await lastMessage(bus, STREAM_NAMES.events, ">");
  return found === null ? null : new Date(found.timestamp);
}

const NO_MESSAGE = 10_037;
const MESSAGE_ID = "Nats-Msg-Id";

/**
 * The message id of the last stored event of a subject, which may have wildcards; "" when it has none, null when nothing is stored. The
 * leader of the stream that stores the subject answers, so every acknowledged event counts; events that have left that stream are among all
 * events. Rejects with a ServiceError.
 */
export async function lastMessageId(bus: Bus, subject: string): Promise<string | null> {
  const taking = streamTaking(subject) ?? STREAM_NAMES.events;
  const found =
    (await lastMessage(bus, taking, subject)) ??
    (taking === STREAM_NAMES.events ? null : await lastMessage(bus, STREAM_NAMES.events, subject));
  return found === null ? null : (found.header.get(MESSAGE_ID) ?? "");
}

function lastMessage(bus: Bus, stream: string, subject: string): Promise<StoredMsg | null> {
  return storedMessage(bus, stream, { last_by_subj: subject });
}

async function storedMessage(
  bus: Bus,
  stream: string,
  query: MsgRequest | NextMsgRequest,
): Promise<StoredMsg | null> {
  const { nc, user } = connectionOf(bus);
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    // The server accepts the other kind here, too.
    return await manager.streams.getMessage(stream, query as MsgRequest);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return null;
    throw infrastructureError(error, user, stream);
  }
}
