import type { APIMessage } from "discord-api-types/v10";
import type { IncomingMessage } from "../adapter.ts";

/** A written message and an answer to one; the other kinds report joins, pins and calls. */
const WRITTEN = new Set([0, 19]);

/** Converts a message for an agent; null for the account's own messages and for those without a human author. */
export function discordMessage(
  message: APIMessage,
  place: { readonly isDirect: boolean; readonly ownId: string },
): IncomingMessage | null {
  const { author, content } = message;
  if (author.id === place.ownId || !WRITTEN.has(message.type)) return null;
  if (content === "" && message.attachments.length === 0) return null;
  const replied = message.message_reference?.message_id;
  return {
    target: place.isDirect
      ? { kind: "user", id: author.id }
      : { kind: "channel", id: message.channel_id },
    messageId: message.id,
    dedupeKey: message.id,
    sender: {
      id: author.id,
      name: author.global_name ?? author.username,
      username: author.username,
      isBot: author.bot === true || message.webhook_id !== undefined,
    },
    text: content,
    attachments: message.attachments.map((file) => ({
      name: file.filename,
      ...(file.content_type && { mimeType: file.content_type }),
      sizeBytes: file.size,
      source: file.url,
    })),
    ...(replied !== undefined && { replyToMessageId: replied }),
    // The author of an answer may switch off that the answer mentions the other author.
    mentionsAccount:
      message.mentions.some((user) => user.id === place.ownId) ||
      message.referenced_message?.author.id === place.ownId,
    writtenAt: new Date(message.timestamp),
  };
}
