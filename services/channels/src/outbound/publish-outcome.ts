import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import {
  MAX_EVENT_TEXT,
  messageFailed,
  messageSent,
  messageUnconfirmed,
} from "@switchyard/contracts/channels/channel-events";
import { cutText } from "@switchyard/contracts/cut-text";
import type { SendRecord } from "./send-record.ts";

/** Publishes the event about the outcome of a send. The stream deduplicates it for a while; later it may be published twice. */
export async function publishOutcome(bus: Bus, record: SendRecord, now: Date): Promise<void> {
  const { sendId, caller: owner, address, text, messageIds, about, attachments, failure } = record;
  const payload = {
    sendId,
    at: now.toISOString(),
    by: owner,
    address,
    text: cutText(text, MAX_EVENT_TEXT),
    truncated: text.length > MAX_EVENT_TEXT,
    // The rest of the URL may be a signature that grants access.
    mediaUrl: attachments[0]?.source.split("?", 1)[0] ?? null,
    messageIds,
    ...about,
  };
  const tokens = { owner, sendId };
  const options = { messageId: `${sendId}:${record.state}`, correlationId: about.runId ?? sendId };
  if (record.state === "sent") {
    await publishEvent(bus, messageSent, tokens, payload, options);
    return;
  }
  const why = {
    code: failure?.code ?? "provider_error",
    message: failure?.message ?? "no reason is known",
  };
  const contract = record.state === "unknown" ? messageUnconfirmed : messageFailed;
  await publishEvent(bus, contract, tokens, { ...payload, ...why }, options);
}
