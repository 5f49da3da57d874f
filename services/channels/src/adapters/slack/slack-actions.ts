import { type ChannelAdapter, ChannelError, type ReadMessage } from "../adapter.ts";
import type { SlackClient, SlackHistoryMessage } from "./slack-client.ts";
import { slackError } from "./slack-error.ts";
import { plainText } from "./slack-message.ts";
import { slackContent } from "./slack-press.ts";

/** Actions on existing messages. */
export function slackActions({ ask, channelOf, history, me }: SlackClient) {
  return {
    async react({ address, messageId }, { emoji, remove }, call) {
      const name = emoji.replaceAll(":", "");
      if (!/^[\w+'-]+$/.test(name))
        throw new ChannelError("unsupported", `Slack names its reactions: thumbsup, not ${emoji}.`);
      const fields = { channel: await channelOf(address, call), timestamp: messageId, name };
      await ask(call, remove ? "reactions.remove" : "reactions.add", fields, [
        "already_reacted",
        "no_reaction",
      ]);
    },

    async edit({ address, messageId: ts }, content, call) {
      const channel = await channelOf(address, call);
      await ask(call, "chat.update", { channel, ts, ...slackContent(content) });
    },

    async delete({ address, messageId }, call) {
      await ask(call, "chat.delete", { channel: await channelOf(address, call), ts: messageId });
    },

    async pin({ address, messageId }, { unpin }, call) {
      const fields = { channel: await channelOf(address, call), timestamp: messageId };
      await ask(call, unpin ? "pins.remove" : "pins.add", fields, ["already_pinned", "no_pin"]);
    },

    async read(address, { limit, before, after }, call) {
      const page = await history(
        address,
        { limit, ...(before && { latest: before }), ...(after && { oldest: after }) },
        call,
      );
      const { userId } = await me().catch((error: unknown) => {
        throw slackError(error);
      });
      const inOrder = page.messages.toSorted((a, b) => Number(a.ts) - Number(b.ts));
      return inOrder.map((message) => readMessage(message, userId));
    },

    async resolve({ text }, call) {
      const id = text.match(/^<?[#@]?([CDGUW][A-Z0-9]{2,})(?:\|[^>]*)?>?$/)?.[1];
      if (id !== undefined && /^[UW]/.test(id)) return { target: { kind: "user", id } };
      if (id !== undefined) return { target: { kind: "channel", id } };
      const name = text.replace(/^#/, "");
      for (let cursor = "", pages = 0; pages < 20; pages++) {
        const page = await ask(call, "conversations.list", {
          limit: 200,
          exclude_archived: true,
          ...(cursor && { cursor }),
        });
        const found = (page["channels"] as { id: string; name: string }[]).find(
          (one) => one.name === name,
        );
        if (found)
          return { target: { kind: "channel", id: found.id }, displayName: `#${found.name}` };
        cursor =
          (page["response_metadata"] as { next_cursor?: string } | undefined)?.next_cursor ?? "";
        if (cursor === "") break;
      }
      throw new ChannelError(
        "invalid_target",
        `Slack has no channel "${text}" that the app sees; give its name or id, or a person's id.`,
      );
    },
  } satisfies Partial<ChannelAdapter>;
}

function readMessage(message: SlackHistoryMessage, ownId: string): ReadMessage {
  return {
    messageId: message.ts,
    author: { id: message.user ?? message.bot_id ?? "unknown" },
    text: plainText(message.text ?? ""),
    at: new Date(Number(message.ts) * 1000).toISOString(),
    isOwn: message.user === ownId,
    ...(message.thread_ts && message.thread_ts !== message.ts && { threadId: message.thread_ts }),
    attachments: (message.files ?? []).map(attachmentOf),
  };
}

function attachmentOf(file: NonNullable<SlackHistoryMessage["files"]>[number]) {
  return {
    ...(file.name && { name: file.name }),
    ...(file.mimetype && { mimeType: file.mimetype }),
  };
}
