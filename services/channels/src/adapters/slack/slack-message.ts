import { z } from "zod";
import type { IncomingMessage } from "../adapter.ts";

/** The fields that are read from an event, both in socket mode and over HTTP. */
export const SlackDelivery = z.object({
  event: z.looseObject({
    type: z.string(),
    subtype: z.string().optional(),
    channel: z.string().optional(),
    channel_type: z.string().optional(),
    user: z.string().optional(),
    bot_id: z.string().optional(),
    text: z.string().optional(),
    ts: z.string().optional(),
    thread_ts: z.string().optional(),
    parent_user_id: z.string().optional(),
    files: z
      .array(
        z.object({
          name: z.string().nullish(),
          mimetype: z.string().nullish(),
          size: z.number().nullish(),
          id: z.string().nullish(),
        }),
      )
      .optional(),
  }),
});

/** Messages of people have no subtype or one of these; the others report edits, joins and the like. */
const OF_PEOPLE = new Set<string | undefined>([
  undefined,
  "file_share",
  "thread_broadcast",
  "me_message",
]);

/** Converts an event into a message for an agent; null for all other events. */
export function slackMessage(
  delivery: unknown,
  me: { readonly userId: string },
): IncomingMessage | null {
  const parsed = SlackDelivery.safeParse(delivery);
  if (!parsed.success) return null;
  const { event } = parsed.data;
  if (event.type !== "message" && event.type !== "app_mention") return null;
  if (!OF_PEOPLE.has(event.subtype) || event.user === me.userId) return null;
  const { channel, user, ts } = event;
  if (channel === undefined || user === undefined || ts === undefined) return null;
  const isDirect = event.channel_type === "im" || channel.startsWith("D");
  const text = event.text ?? "";
  const attachments = (event.files ?? []).map(attachmentOf);
  if (text === "" && attachments.length === 0) return null;
  const thread = event.thread_ts === ts ? undefined : event.thread_ts;
  return {
    target: isDirect
      ? { kind: "user", id: user }
      : { kind: event.channel_type === "mpim" ? "group" : "channel", id: channel },
    ...(thread !== undefined && { threadId: thread }),
    messageId: ts,
    // A mention arrives as two events, `message` and `app_mention`, with one timestamp.
    dedupeKey: `${channel}:${ts}`,
    sender: { id: user, isBot: event.bot_id !== undefined },
    text: plainText(text),
    attachments,
    mentionsAccount:
      event.type === "app_mention" ||
      text.includes(`<@${me.userId}>`) ||
      event.parent_user_id === me.userId,
    writtenAt: new Date(Number(ts) * 1000),
  };
}

function attachmentOf(
  file: NonNullable<z.infer<typeof SlackDelivery>["event"]["files"]>[number],
): NonNullable<IncomingMessage["attachments"]>[number] {
  return {
    ...(file.name && { name: file.name }),
    ...(file.mimetype && { mimeType: file.mimetype }),
    ...(file.size && { sizeBytes: file.size }),
    ...(file.id && { source: file.id }),
  };
}

/** Slack escapes only three characters in people's texts. */
export function plainText(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** The reverse, so that no text of a model can call everybody by `<!channel>`. */
export function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
