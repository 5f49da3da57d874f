import { JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Bus } from "./connect.ts";
import { connectionOf } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";

const NO_MESSAGE = 10_037;
const MESSAGE_ID = "Nats-Msg-Id";

/**
 * The message id of the last stored event of a subject, which may have wildcards; "" when it has none, null when nothing is
 * stored. The stream's leader answers, so it knows of everything that was acknowledged. Rejects with a ServiceError.
 */
export async function lastMessageId(bus: Bus, subject: string): Promise<string | null> {
  const { nc, user } = connectionOf(bus);
  const name = STREAM_NAMES.events;
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const found = await manager.streams.getMessage(name, { last_by_subj: subject });
    return found === null ? null : (found.header.get(MESSAGE_ID) ?? "");
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return null;
    throw infrastructureError(error, user, name);
  }
}
