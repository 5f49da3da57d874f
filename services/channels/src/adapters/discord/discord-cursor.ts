import { z } from "zod";

/** The number that fits the 4 KiB of a cursor. The conversation that has been silent for longest is left out. */
const MAX_CONVERSATIONS = 60;

const Session = z.object({ id: z.string(), resumeUrl: z.string(), seq: z.int() });
export type GatewaySession = z.infer<typeof Session>;

const Cursor = z.object({
  session: Session.nullable(),
  /** For each conversation its channel, the last message that was stored, and whether it is with one person. */
  conversations: z.array(z.tuple([z.string(), z.string(), z.boolean()])),
});

/** The account's position in Discord's messages: the session to resume, and if that is gone, the messages to fetch. */
export type DiscordCursor = z.infer<typeof Cursor>;

/** An unreadable cursor counts as none: messages written meanwhile are not fetched. */
export function readCursor(text: string | null): DiscordCursor {
  try {
    return Cursor.parse(JSON.parse(text ?? "null"));
  } catch {
    return { session: null, conversations: [] };
  }
}

export function writeCursor(cursor: DiscordCursor): string {
  return JSON.stringify(cursor);
}

/** The cursor after a message. */
export function afterMessage(
  cursor: DiscordCursor,
  message: { readonly channel: string; readonly id: string; readonly isDirect: boolean },
): DiscordCursor {
  const others = cursor.conversations.filter(([channel]) => channel !== message.channel);
  return {
    ...cursor,
    conversations: [
      ...others,
      [message.channel, message.id, message.isDirect] as [string, string, boolean],
    ].slice(-MAX_CONVERSATIONS),
  };
}
