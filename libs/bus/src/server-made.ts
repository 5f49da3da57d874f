import type { Msg } from "@nats-io/transport-node";
import { headerOf } from "./message-headers.ts";

/**
 * True for a message that the NATS server sent itself, as the answer to a request whose sender named this subject for the answer.
 * Permissions do not apply to that name, so such a message does not show its sender:
 * https://docs.nats.io/running-a-nats-service/configuration/securing_nats/authorization has permissions for publishing only.
 *
 * There are three kinds: a stored message, which the server marks; answers of the JetStream API, which name their type; and
 * acknowledgements of publishing.
 */
export function isServerMade(message: Pick<Msg, "headers">, body: unknown): boolean {
  // ADR-31 adds this header to a stored message, and no publisher of Switchyard sets it.
  if (headerOf(message, "Nats-Stream") !== undefined) return true;
  if (typeof body !== "object" || body === null) return false;
  if ("type" in body && typeof body.type === "string" && body.type.startsWith(API_TYPES))
    return true;
  return isPublishAck(body);
}

const API_TYPES = "io.nats.jetstream.";

function isPublishAck(body: object): boolean {
  return (
    "stream" in body &&
    typeof body.stream === "string" &&
    ("seq" in body || "error" in body || "batch" in body)
  );
}
