import type { Api } from "grammy";
import { z } from "zod";
import type { Capabilities } from "@switchyard/contracts/channels/channel-address";
import {
  type AdapterDefinition,
  type ChannelAdapter,
  ChannelError,
  type MessageButton,
  type OutgoingMessage,
} from "../adapter.ts";
import { fetchFile } from "../fetch-file.ts";
import { LinkPreviews } from "../link-previews.ts";
import { keepConnected } from "../keep-connected.ts";
import { sendParts } from "../send-parts.ts";
import { type AskTelegram, numberOf, telegramActions, verbatim } from "./telegram-actions.ts";
import { migratedTo, telegramError, telegramProblem } from "./telegram-error.ts";
import { POLL_SECONDS, pollUpdates } from "./poll-updates.ts";

const MAX_CAPTION = 1_024;

const TelegramConfig = z.strictObject({
  /** The token from @BotFather. */
  token: z.string().regex(/^\d+:[\w-]+$/, "must be a token of @BotFather, such as 123456:ABC…"),
  /** The URL of a self-hosted Bot API server. */
  apiRoot: z.url().default("https://api.telegram.org"),
  linkPreviews: LinkPreviews,
});
type TelegramConfig = z.infer<typeof TelegramConfig>;

const capabilities: Capabilities = {
  actions: [
    "send",
    "reply",
    "thread",
    "react",
    "delete",
    "pin",
    "resolve",
    "attachments",
    "silent",
  ],
  maxTextLength: 4_096,
  media: { kinds: ["image", "audio", "video", "file"], maxBytes: 50_000_000 },
  effects: [],
  threads: "topic",
  reactions: "unicode",
  idempotentSend: false,
};

/** Bots of Telegram, by long polling: no address of ours has to be reachable. */
export const telegram: AdapterDefinition<TelegramConfig> = {
  name: "telegram",
  config: TelegramConfig,
  secrets: ({ token }) => [token, encodeURIComponent(token), token.slice(token.indexOf(":") + 1)],
  create,
};

function create(config: TelegramConfig): ChannelAdapter {
  let made: Promise<Api> | undefined;
  let done: Promise<void> | undefined;
  const apiRoot = config.apiRoot.replace(/\/$/, "");
  /** Groups that became supergroups, which have another id, by the id that they had. */
  const supergroups = new Map<string, string>();
  // The library is loaded on first use. It retries nothing by itself.
  const api = () =>
    (made ??= import("grammy").then(
      ({ Api }) =>
        new Api(config.token, {
          apiRoot,
          timeoutSeconds: 2 * POLL_SECONDS,
        }),
    ));

  /** Makes one call; errors are converted to ours. */
  const ask: AskTelegram = async (signal, call) => {
    try {
      // The library's type of a signal is that of a package for browsers; Node's has all of it.
      return await call(await api(), signal as never);
    } catch (error) {
      throw telegramError(error);
    }
  };

  return {
    capabilities,

    async start(sink, signal) {
      const connection = await keepConnected({
        connect,
        problem: telegramProblem,
        sink,
        signal,
      }).catch((error: unknown) => {
        throw new ChannelError("provider_error", telegramProblem(error).text);
      });
      done = connection.done;

      async function connect() {
        const bot = await api();
        const me = await bot.getMe(signal as never);
        return { ended: pollUpdates(bot, { me, sink, signal }) };
      }
    },

    async send(message, { signal }) {
      const parts = partsOf(message, config);
      const { id } = message.address.target;
      const sendPart = (part: Part) =>
        ask(signal, async (bot, at) => {
          const chat = supergroups.get(id) ?? id;
          try {
            return String((await part(bot, chat, at)).message_id);
          } catch (error) {
            const migrated = migratedTo(error);
            if (migrated === null || migrated === chat) throw error;
            supergroups.set(id, migrated);
            return String((await part(bot, migrated, at)).message_id);
          }
        });
      const ids = await sendParts(parts.map((part) => () => sendPart(part)));
      return { messageIds: ids, sentAt: new Date() };
    },

    async load(source, { maxBytes, signal }) {
      const { file_path: path } = await ask(signal, (bot, at) => bot.getFile(source, at));
      if (path === undefined || path.startsWith("/"))
        throw new ChannelError(
          "unsupported",
          "Telegram's Bot API server offers it for no download; do not run the server with --local",
        );
      const url = new URL(`${apiRoot}/file/bot${config.token}/${path}`);
      return (await fetchFile(url, { maxBytes, signal })).bytes;
    },

    ...telegramActions(ask),

    async check({ signal }) {
      const me = await ask(signal, (bot, at) => bot.getMe(at));
      return { identity: `@${me.username}` };
    },

    async close() {
      await done;
    },
  };
}

/** Two buttons fit side by side; more are below each other, so that their labels can be read. */
function rowsOf(buttons: readonly MessageButton[]) {
  const all = buttons.map(({ label, data }) => ({ text: label, callback_data: data }));
  return all.length <= 2 ? [all] : all.map((button) => [button]);
}

type Part = (bot: Api, chat: string, signal: never) => Promise<{ message_id: number }>;

/** Returns the requests for a message: one for its text, and one for each file; a short text is the caption of the first. */
function partsOf(
  message: OutgoingMessage,
  { linkPreviews }: Pick<TelegramConfig, "linkPreviews">,
): Part[] {
  const { address, text, attachments, replyToMessageId, silent, buttons } = message;
  const common = {
    ...(address.threadId !== undefined && {
      message_thread_id: numberOf(address.threadId, "topic"),
    }),
    ...(replyToMessageId !== undefined && {
      reply_parameters: {
        message_id: numberOf(replyToMessageId, "message"),
        allow_sending_without_reply: true,
      },
    }),
    ...(silent && { disable_notification: true }),
    ...(buttons && {
      reply_markup: {
        inline_keyboard: rowsOf(buttons),
      },
    }),
  };
  // Captions have no previews.
  const preview = linkPreviews ? {} : { link_preview_options: { is_disabled: true } };
  const isCaption = attachments.length > 0 && text.length <= MAX_CAPTION;
  const files = attachments.map((file, index): Part => async (bot, chat, signal) => {
    const { InputFile } = await import("grammy");
    const caption = index === 0 && isCaption && text !== "" ? { caption: text } : {};
    return bot.sendDocument(
      chat,
      new InputFile(file.bytes, file.name),
      { ...common, ...caption },
      signal,
    );
  });
  return isCaption
    ? files
    : [
        (bot, chat, signal) =>
          bot.sendMessage(chat, text, { ...common, ...preview, ...verbatim(message) }, signal),
        ...files,
      ];
}
