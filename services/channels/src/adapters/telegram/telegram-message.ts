import type {
  CallbackQuery,
  Chat,
  Message,
  MessageEntity,
  Update,
  User,
  UserFromGetMe,
} from "grammy/types";
import type { ButtonPress, IncomingMessage } from "../adapter.ts";

/** The updates in their order, those of one album together: Telegram sends each of its files as a separate message. */
export function albumsOf(updates: readonly Update[]): Update[][] {
  const groups: Update[][] = [];
  for (const update of updates) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && albumOf(update) !== null && albumOf(update) === albumOf(last[0]))
      last.push(update);
    else groups.push([update]);
  }
  return groups;
}

/** Names the album that an update belongs to; null when it belongs to none. */
export function albumOf(update: Update): string | null {
  const message = update.message ?? update.channel_post;
  return message?.media_group_id === undefined
    ? null
    : `album ${message.chat.id} ${message.media_group_id}`;
}

/** Joins the parts of an album into one message; its text is that of the parts that have one. */
export function albumMessage(
  updates: readonly Update[],
  me: UserFromGetMe,
): IncomingMessage | null {
  const parts = updates
    .map((update) => telegramMessage(update, me))
    .filter((part) => part !== null);
  const [first] = parts;
  const key = updates[0] === undefined ? null : albumOf(updates[0]);
  if (first === undefined || key === null) return first ?? null;
  return {
    ...first,
    dedupeKey: key,
    text: parts
      .map(({ text }) => text)
      .filter((text) => text !== "")
      .join("\n"),
    attachments: parts.flatMap(({ attachments = [] }) => attachments),
    mentionsAccount: parts.some(({ mentionsAccount }) => mentionsAccount),
  };
}

/** Converts an update into a message for an agent: null for the account's own and for what a bot does not answer, such as a join. */
export function telegramMessage(update: Update, me: UserFromGetMe): IncomingMessage | null {
  const message = update.message ?? update.channel_post;
  if (!message) return null;
  const text = message.text ?? message.caption ?? "";
  const attachments = attachmentsOf(message);
  if (text === "" && attachments.length === 0) return null;
  const { chat, from } = message;
  if (from?.id === me.id) return null;
  // Telegram names one of its own bots in `from` when an anonymous admin writes, or a person writes as a channel.
  const sender = message.sender_chat ?? from ?? chat;
  const replied = message.reply_to_message;
  const threadId = message.is_topic_message ? message.message_thread_id : undefined;
  return {
    target: { kind: kindOf(chat.type), id: String(chat.id) },
    ...(threadId !== undefined && { threadId: String(threadId) }),
    messageId: String(message.message_id),
    sender: {
      id: String(sender.id),
      ...nameOf(sender),
      ...("username" in sender && sender.username && { username: sender.username }),
      isBot: message.sender_chat === undefined && (from?.is_bot ?? false),
    },
    text,
    attachments,
    // Every message of a topic "replies" to its first message, which denotes the thread and is no reply.
    ...(replied &&
      replied.message_id !== threadId && { replyToMessageId: String(replied.message_id) }),
    mentionsAccount:
      replied?.from?.id === me.id ||
      (message.entities ?? message.caption_entities ?? []).some((entity) =>
        names(me, entity, text),
      ),
    writtenAt: new Date(message.date * 1000),
  };
}

/** Null for a button of a message that Telegram does not show any more, and of a message in inline mode, which we never send. */
export function telegramPress(query: CallbackQuery): ButtonPress | null {
  const { id, from, message, data } = query;
  if (message === undefined || data === undefined) return null;
  const { chat } = message;
  return {
    target: { kind: kindOf(chat.type), id: String(chat.id) },
    messageId: String(message.message_id),
    personId: String(from.id),
    data,
    pressId: id,
  };
}

/** Maps Telegram's kinds of conversations. */
export function kindOf(type: string): "user" | "group" | "channel" {
  if (type === "private") return "user";
  return type === "channel" ? "channel" : "group";
}

function names(me: UserFromGetMe, entity: MessageEntity, text: string): boolean {
  if (entity.type === "text_mention") return entity.user.id === me.id;
  if (entity.type !== "mention" && entity.type !== "bot_command") return false;
  const word = text.slice(entity.offset, entity.offset + entity.length).toLowerCase();
  return word.endsWith(`@${me.username.toLowerCase()}`);
}

function nameOf(sender: User | Chat): { name?: string } {
  const words = "title" in sender ? [sender.title] : [sender.first_name, sender.last_name];
  const name = words.filter(Boolean).join(" ");
  return name ? { name } : {};
}

/** By their ids: Telegram's URL of a file has the bot's token in it. */
function attachmentsOf(message: Message): NonNullable<IncomingMessage["attachments"]>[number][] {
  const photo = message.photo?.at(-1);
  const { document, video, audio, voice, video_note: note } = message;
  const file = document ?? video ?? audio ?? voice ?? note;
  const found: NonNullable<IncomingMessage["attachments"]>[number][] = [];
  if (photo)
    found.push({
      name: "photo.jpg",
      mimeType: "image/jpeg",
      source: photo.file_id,
      ...(photo.file_size && { sizeBytes: photo.file_size }),
    });
  if (file)
    found.push({
      ...(voice !== undefined && { name: "voice.ogg" }),
      ...("file_name" in file && file.file_name && { name: file.file_name }),
      ...("mime_type" in file && file.mime_type && { mimeType: file.mime_type }),
      source: file.file_id,
      ...(file.file_size && { sizeBytes: file.file_size }),
    });
  return found;
}
