import type { Api } from "grammy";
import { z } from "zod";
import type { Capabilities } from "@switchyard/contracts/channel-address";
import {
  type AdapterDefinition,
  type ChannelAdapter,
  ChannelError,
  type OutgoingMessage,
} from "../adapter.ts";
import { LinkPreviews } from "../link-previews.ts";
import { keepConnected } from "../keep-connected.ts";
import { sendParts } from "../send-parts.ts";
import { type AskTelegram, numberOf, telegramActions } from "./telegram-actions.ts";
import { telegramError, telegramProblem } from "./telegram-error.ts";
import { telegramMessage } from "./telegram-message.ts";

const MAX_CAPTION = 1_024;
const POLL_SECONDS = 30;

const TelegramConfig = z.strictObject({
  /** Of @BotFather. */
  token: z.string().regex(/^\d+:[\w-]+$/, "must be a token of @BotFather, such as 123456:ABC…"),
  /** For a Bot API server of one's own. */
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
  // The library is loaded with the first use. It repeats nothing by itself.
  const api = () =>
    (made ??= import("grammy").then(
      ({ Api }) =>
        new Api(config.token, {
          apiRoot: config.apiRoot.replace(/\/$/, ""),
          timeoutSeconds: 2 * POLL_SECONDS,
        }),
    ));

  /** One call; its errors are of ours. */
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
        return { ended: poll(bot, me) };
      }

      // The next poll confirms what came before it. So each message is stored before the next poll, and one that
      // cannot be stored ends the polling: Telegram keeps it for 24 hours and delivers it again.
      async function poll(bot: Api, me: Awaited<ReturnType<Api["getMe"]>>): Promise<void> {
        for (let offset = 0; !signal.aborted;) {
          const updates = await bot.getUpdates(
            { offset, timeout: POLL_SECONDS, allowed_updates: ["message", "channel_post"] },
            signal as never,
          );
          for (const update of updates) {
            const message = telegramMessage(update, me);
            if (message) await sink.accept(message);
            offset = update.update_id + 1;
          }
        }
      }
    },

    async send(message, { signal }) {
      const parts = partsOf(message, config);
      const ids = await sendParts(
        parts.map(
          (part) => () => ask(signal, async (bot, at) => String((await part(bot, at)).message_id)),
        ),
      );
      return { messageIds: ids, sentAt: new Date() };
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

type Part = (bot: Api, signal: never) => Promise<{ message_id: number }>;

/** The requests that a message takes: its text, and one for each file; a short text is the caption of the first. */
function partsOf(
  { address, text, attachments, replyToMessageId, silent }: OutgoingMessage,
  { linkPreviews }: Pick<TelegramConfig, "linkPreviews">,
): Part[] {
  const chat = address.target.id;
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
  };
  // Captions have no previews.
  const preview = linkPreviews ? {} : { link_preview_options: { is_disabled: true } };
  const isCaption = attachments.length > 0 && text.length <= MAX_CAPTION;
  const files = attachments.map((file, index): Part => async (bot, signal) => {
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
    : [(bot, signal) => bot.sendMessage(chat, text, { ...common, ...preview }, signal), ...files];
}
