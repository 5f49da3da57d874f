import type { APIMessage } from "discord-api-types/v10";
import { type ChannelAdapter, ChannelError, type ReadMessage } from "../adapter.ts";
import { type DiscordClient, snowflake } from "./discord-client.ts";
import { discordContent } from "./discord-press.ts";

/** Actions on existing messages. */
export function discordActions({ ask, channelOf, messagePath }: DiscordClient) {
  return {
    async react(at, { emoji, remove }, call) {
      const path: `/${string}` = `${await messagePath(at, call)}/reactions/${encodeURIComponent(emoji.replaceAll(/^<a?:|>$/g, ""))}/@me`;
      await ask((api) =>
        remove ? api.delete(path, { signal: call.signal }) : api.put(path, { signal: call.signal }),
      );
    },

    async edit(at, content, call) {
      const path = await messagePath(at, call);
      // https://docs.discord.com/developers/resources/message#edit-message: an empty list removes the buttons.
      const body = {
        content: discordContent(content),
        components: [],
        allowed_mentions: { parse: [] },
      };
      await ask((api) => api.patch(path, { body, signal: call.signal }));
    },

    async delete(at, call) {
      const path = await messagePath(at, call);
      await ask((api) => api.delete(path, { signal: call.signal }));
    },

    async pin({ address, messageId }, { unpin }, call) {
      const path: `/${string}` = `/channels/${await channelOf(address, call)}/messages/pins/${snowflake(messageId, "not_found")}`;
      await ask((api) =>
        unpin ? api.delete(path, { signal: call.signal }) : api.put(path, { signal: call.signal }),
      );
    },

    async read(address, { limit, before, after }, call) {
      const channel = await channelOf(address, call);
      const query = new URLSearchParams({
        limit: String(limit),
        ...(before && { before }),
        ...(after && { after }),
      });
      const me = await ask<{ id: string }>((api) => api.get("/users/@me", { signal: call.signal }));
      const page = await ask<APIMessage[]>((api) =>
        api.get(`/channels/${channel}/messages`, { query, signal: call.signal }),
      );
      return page.toReversed().map((message) => readMessage(message, me.id));
    },

    async resolve({ text }, { signal }) {
      const user = text.match(/^<@!?(\d+)>$/)?.[1];
      if (user !== undefined) return { target: { kind: "user", id: user } };
      const id =
        text.match(/^<?#?(\d{15,20})>?$/)?.[1] ??
        text.match(/^https:\/\/discord\.com\/channels\/[\w@]+\/(\d+)/)?.[1];
      if (id === undefined)
        throw new ChannelError(
          "invalid_target",
          `Discord has no target "${text}"; give a channel's id or link, or <@id> for a person.`,
        );
      const found = await ask<{ id: string; name?: string }>((api) =>
        api.get(`/channels/${id}`, { signal }),
      );
      return {
        target: { kind: "channel", id: found.id },
        ...(found.name && { displayName: `#${found.name}` }),
      };
    },
  } satisfies Partial<ChannelAdapter>;
}

function readMessage(message: APIMessage, ownId: string): ReadMessage {
  const replied = message.message_reference?.message_id;
  return {
    messageId: message.id,
    author: { id: message.author.id, name: message.author.global_name ?? message.author.username },
    text: message.content,
    at: new Date(message.timestamp).toISOString(),
    isOwn: message.author.id === ownId,
    ...(replied !== undefined && { replyToMessageId: replied }),
    attachments: message.attachments.map((file) => ({
      name: file.filename,
      ...(file.content_type && { mimeType: file.content_type }),
    })),
  };
}
