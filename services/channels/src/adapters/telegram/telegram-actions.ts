import type { Api } from "grammy";
import type { MessageEntity } from "grammy/types";
import { type ChannelAdapter, ChannelError, type OutgoingMessage } from "../adapter.ts";
import { kindOf } from "./telegram-message.ts";

/** Telegram finds links and mentions in plain text, but none in the text of such an entity. */
export function verbatim({
  text,
  verbatimFrom: offset,
}: Pick<OutgoingMessage, "text" | "verbatimFrom">): { entities?: MessageEntity[] } {
  if (offset === undefined || offset >= text.length) return {};
  return { entities: [{ type: "pre", offset, length: text.length - offset }] };
}

/** Makes one call of the Bot API; errors are converted to ours. */
export type AskTelegram = <T>(
  signal: AbortSignal,
  call: (api: Api, signal: never) => Promise<T>,
) => Promise<T>;

/** Actions on existing messages. */
export function telegramActions(ask: AskTelegram) {
  return {
    async react({ address, messageId }, { emoji, remove }, { signal }) {
      const reactions = remove ? [] : [{ type: "emoji" as const, emoji: emoji as never }];
      await ask(signal, (bot, at) =>
        bot.setMessageReaction(
          address.target.id,
          numberOf(messageId, "message"),
          reactions,
          {},
          at,
        ),
      );
    },

    async edit({ address, messageId }, content, { signal }) {
      const id = numberOf(messageId, "message");
      // Without `reply_markup` the buttons are removed: https://core.telegram.org/bots/api#editmessagetext
      const other = { link_preview_options: { is_disabled: true }, ...verbatim(content) };
      await ask(signal, (bot, at) =>
        bot.editMessageText(address.target.id, id, content.text, other, at),
      ).catch((error: unknown) => {
        if (!(error instanceof ChannelError) || !error.message.includes("is not modified"))
          throw error;
      });
    },

    async delete({ address, messageId }, { signal }) {
      await ask(signal, (bot, at) =>
        bot.deleteMessage(address.target.id, numberOf(messageId, "message"), at),
      );
    },

    async pin({ address, messageId }, { unpin }, { signal }) {
      const id = numberOf(messageId, "message");
      await ask(signal, (bot, at) =>
        unpin
          ? bot.unpinChatMessage(address.target.id, id, {}, at)
          : bot.pinChatMessage(address.target.id, id, { disable_notification: true }, at),
      );
    },

    async resolve({ text }, { signal }) {
      const name = text.match(/^(?:https?:\/\/)?t\.me\/(\w+)$/)?.[1] ?? text.match(/^@(\w+)$/)?.[1];
      if (!name && !/^-?\d+$/.test(text))
        throw new ChannelError(
          "invalid_target",
          `Telegram has no target "${text}"; give a chat's id, @name or a t.me link.`,
        );
      const chat = await ask(signal, (bot, at) => bot.getChat(name ? `@${name}` : text, at));
      return {
        target: { kind: kindOf(chat.type), id: String(chat.id) },
        ...((chat.title ?? chat.first_name) && { displayName: chat.title ?? chat.first_name }),
      };
    },
  } satisfies Partial<ChannelAdapter>;
}

/** Telegram's ids of messages and topics are numbers; anything else it does not have. */
export function numberOf(id: string, what: "message" | "topic"): number {
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new ChannelError(
    what === "message" ? "not_found" : "invalid_target",
    `Telegram has no ${what} "${id}": its ids are numbers.`,
  );
}
