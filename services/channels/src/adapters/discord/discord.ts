import type { Capabilities } from "@switchyard/contracts/channels/channel-address";
import type { APIMessage } from "discord-api-types/v10";
import {
  type AdapterDefinition,
  type AdapterKit,
  type ChannelAdapter,
  ChannelError,
} from "../adapter.ts";
import { fetchFile, providerUrl } from "../fetch-file.ts";
import { keepConnected } from "../keep-connected.ts";
import { discordActions } from "./discord-actions.ts";
import { discordClient, DiscordConfig, snowflake } from "./discord-client.ts";
import { discordProblem } from "./discord-error.ts";
import { discordInbound } from "./discord-inbound.ts";
import { discordButtons, discordContent } from "./discord-press.ts";

/** https://docs.discord.com/developers/resources/message#message-object-message-flags */
const SUPPRESS_EMBEDS = 1 << 2;
const SUPPRESS_NOTIFICATIONS = 1 << 12;

/** https://docs.discord.com/developers/reference#signed-attachment-cdn-urls */
const FILE_HOSTS = ["cdn.discordapp.com", "media.discordapp.net"];

const capabilities: Capabilities = {
  actions: ["send", "reply", "react", "delete", "pin", "read", "resolve", "attachments", "silent"],
  maxTextLength: 2_000,
  media: { kinds: ["image", "audio", "video", "file"], maxBytes: 10_000_000 },
  effects: [],
  threads: "channel",
  reactions: "any",
  // Under the same nonce Discord answers with the earlier message, for some minutes.
  idempotentSend: true,
};

/** Bots of Discord. */
export const discord: AdapterDefinition<DiscordConfig> = {
  name: "discord",
  config: DiscordConfig,
  secrets: ({ token }) => [token],
  create,
};

function create(config: DiscordConfig, kit: AdapterKit): ChannelAdapter {
  const client = discordClient(config);
  const { ask, channelOf } = client;
  let done: Promise<void> | undefined;
  return {
    capabilities,

    async start(sink, signal) {
      try {
        const connect = await discordInbound(kit, {
          rest: await client.rest(),
          token: config.token,
          sink,
          signal,
        });
        done = (await keepConnected({ connect, problem: discordProblem, sink, signal })).done;
      } catch (error) {
        throw new ChannelError("provider_error", discordProblem(error).text);
      }
    },

    async send(message, call) {
      const { address, text, attachments, replyToMessageId, silent, buttons } = message;
      const channel = await channelOf(address, call);
      const flags =
        (silent ? SUPPRESS_NOTIFICATIONS : 0) + (config.linkPreviews ? 0 : SUPPRESS_EMBEDS);
      const body = {
        ...(text !== "" && { content: discordContent(message) }),
        // At most 25 characters: 128 bits to the base of 36.
        nonce: BigInt(`0x${call.idempotencyKey}`).toString(36),
        enforce_nonce: true,
        ...(buttons !== undefined && { components: discordButtons(buttons) }),
        // Only named users may be mentioned: no @everyone, no role.
        allowed_mentions: {
          parse: message.verbatimFrom === undefined ? ["users"] : [],
          replied_user: true,
        },
        ...(replyToMessageId !== undefined && {
          message_reference: {
            message_id: snowflake(replyToMessageId, "not_found"),
            fail_if_not_exists: false,
          },
        }),
        ...(flags > 0 && { flags }),
      };
      const files = attachments.map((file) => ({
        name: file.name,
        contentType: file.mimeType,
        data: Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength),
      }));
      const sent = await ask<APIMessage>((api) =>
        api.post(`/channels/${channel}/messages`, {
          body,
          signal: call.signal,
          ...(files.length > 0 && { files }),
        }),
      );
      return { messageIds: [sent.id], sentAt: new Date(sent.timestamp) };
    },

    async load(source, { maxBytes, signal }) {
      const url = providerUrl(source, { hosts: FILE_HOSTS, origin: config.api });
      return (await fetchFile(url, { maxBytes, signal })).bytes;
    },

    ...discordActions(client),

    async check({ signal }) {
      const me = await ask<{ username: string }>((api) => api.get("/users/@me", { signal }));
      return { identity: me.username };
    },

    async close() {
      await done;
      await client.close();
    },
  };
}
