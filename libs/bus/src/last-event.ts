import { JetStreamApiError, jetstreamManager, type StoredMsg } from "@nats-io/jetstream";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Bus } from "./connect.ts";
import { connectionOf } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";

/** The payload of the last stored event of a subject, as JSON text; null when nothing is stored. Rejects with a ServiceError. */
export async function lastEventText(bus: Bus, subject: string): Promise<string | null> {
  const found = await lastMessage(bus, subject);
  return found === null ? null : new TextDecoder().decode(found.data);
}

/** The sequence of the last event that is stored, of whatever subject; 0: none was. Rejects with a ServiceError. */
export async function lastEventSequence(bus: Bus): Promise<number> {
  const { nc, user } = connectionOf(bus);
  const name = STREAM_NAMES.events;
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    return (await manager.streams.info(name)).state.last_seq;
  } catch (error) {
    throw infrastructureError(error, user, name);
  }
}

const NO_MESSAGE = 10_037;
const MESSAGE_ID = "Nats-Msg-Id";

/**
 * The message id of the last stored event of a subject, which may have wildcards; "" when it has none, null when nothing is
 * stored. The stream's leader answers, so it knows of everything that was acknowledged. Rejects with a ServiceError.
 */
export async function lastMessageId(bus: Bus, subject: string): Promise<string | null> {
  const found = await lastMessage(bus, subject);
  return found === null ? null : (found.header.get(MESSAGE_ID) ?? "");
}

async function lastMessage(bus: Bus, subject: string): Promise<StoredMsg | null> {
  const { nc, user } = connectionOf(bus);
  const name = STREAM_NAMES.events;
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    return await manager.streams.getMessage(name, { last_by_subj: subject });
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return null;
    throw infrastructureError(error, user, name);
  }
}
