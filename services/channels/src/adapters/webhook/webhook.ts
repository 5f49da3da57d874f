import type { Capabilities } from "@switchyard/contracts/channels/channel-address";
import { z } from "zod";
import {
  ChannelError,
  type AdapterDefinition,
  type AdapterKit,
  type ChannelAdapter,
  type OutgoingMessage,
} from "../adapter.ts";
import { fetchFile, webUrl } from "../fetch-file.ts";
import { postMessage } from "./post-message.ts";
import { WebhookConfig } from "./webhook-config.ts";
import { jsonAnswer, readWebhook } from "./webhook-inbound.ts";

/** Files are in the body, so a third larger than they are. */
const MAX_FILE = 5 * 1_024 * 1_024;
const MAX_REDIRECTS = 3;
const Answer = z.object({ messageId: z.string().regex(/^[^\p{Cc}]{1,256}$/u) });

/**
 * Programs that write and read by signed requests, as defined by https://www.standardwebhooks.com: for every system without an
 * adapter of its own.
 */
export const webhook: AdapterDefinition<WebhookConfig> = {
  name: "webhook",
  config: WebhookConfig,
  secrets: ({ inbound, outbound }) => [
    ...(inbound?.secrets ?? []),
    ...(outbound === undefined ? [] : [outbound.secret]),
  ],
  create: createWebhook,
};

function createWebhook({ inbound, outbound }: WebhookConfig, kit: AdapterKit): ChannelAdapter {
  const capabilities: Capabilities = {
    actions: outbound === undefined ? [] : ["send", "reply", "thread", "attachments", "silent"],
    maxTextLength: 32_000,
    media:
      outbound === undefined
        ? null
        : { kinds: ["image", "audio", "video", "file"], maxBytes: MAX_FILE },
    effects: [],
    threads: "topic",
    reactions: "none",
    idempotentSend: outbound?.knowsRepeats === true,
  };
  const post = (type: "message" | "ping", data: object, call: Call): Promise<unknown> => {
    if (outbound === undefined)
      throw new ChannelError("unsupported", "this account only takes messages: it has no outbound");
    const nowMs = kit.now();
    const value = { type, timestamp: new Date(nowMs).toISOString(), data };
    const { idempotencyKey: id, signal } = call;
    return postMessage(outbound, { guard: kit.guard, id, value, nowMs, signal });
  };
  return {
    capabilities,

    ...(inbound !== undefined && {
      start(sink) {
        sink.state("connected");
        return Promise.resolve();
      },
      async receive(request, sink) {
        const { secrets } = inbound;
        const read = readWebhook(request, { secrets, nowMs: kit.now() });
        if ("answer" in read) return read.answer;
        const outcome = await sink.accept(read.message);
        return jsonAnswer(202, { messageId: read.message.messageId, outcome });
      },
      async load(source, { maxBytes, signal }) {
        const limits = { guard: kit.guard, maxRedirects: MAX_REDIRECTS, maxBytes, signal };
        return (await fetchFile(webUrl(source), limits)).bytes;
      },
    }),

    async send(message, call) {
      const answer = Answer.safeParse(await post("message", dataOf(message), call));
      const messageId = answer.success ? answer.data.messageId : call.idempotencyKey;
      return { messageIds: [messageId], sentAt: new Date(kit.now()) };
    },

    async check(call) {
      const path = `/hooks/${kit.channel}/${kit.accountId}`;
      if (outbound === undefined) return { identity: `takes messages at ${path}` };
      await post("ping", {}, call);
      return { identity: new URL(outbound.url).host };
    },

    close: () => Promise.resolve(),
  };
}

type Call = Parameters<ChannelAdapter["send"]>[1];

function dataOf({ address, text, replyToMessageId, attachments, silent }: OutgoingMessage): object {
  const { channel, accountId, target, threadId } = address;
  return {
    channel,
    accountId,
    target,
    ...(threadId !== undefined && { threadId }),
    ...(replyToMessageId !== undefined && { replyToMessageId }),
    text,
    silent,
    attachments: attachments.map(({ name, mimeType, sha256, bytes }) => ({
      name,
      mimeType,
      sha256,
      content: Buffer.from(bytes).toString("base64"),
    })),
  };
}
