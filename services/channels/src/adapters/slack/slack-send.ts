import { type ChannelAdapter, ChannelError } from "../adapter.ts";
import { sendParts } from "../send-parts.ts";
import type { SlackClient } from "./slack-client.ts";
import { shareFile } from "./slack-files.ts";
import { slackContent } from "./slack-press.ts";

/** The age up to which a message is searched whose reply was lost. */
const LOOK_BACK_SECONDS = 3_600;
const EVENT_TYPE = "switchyard_message";

/** Messages that go out carry their key as metadata, by which they are found again. */
export function slackSending(
  { ask, channelOf, history }: SlackClient,
  { linkPreviews, now }: { readonly linkPreviews: boolean; readonly now: () => number },
) {
  return {
    async send(message, call) {
      const { address, text, attachments, replyToMessageId } = message;
      const channel = await channelOf(address, call);
      const thread = address.threadId ?? replyToMessageId;
      const inThread = thread === undefined ? {} : { thread_ts: thread };
      const metadata = { event_type: EVENT_TYPE, event_payload: { key: call.idempotencyKey } };
      const post = async () => {
        const sent = await ask(call, "chat.postMessage", {
          channel,
          ...slackContent(message),
          metadata,
          unfurl_links: linkPreviews,
          unfurl_media: linkPreviews,
          ...inThread,
        });
        return String(sent["ts"]);
      };
      const askHere = (method: string, fields: Record<string, unknown>) =>
        ask(call, method, fields);
      const files = attachments.map(
        (file) => () => shareFile(askHere, file, { channel_id: channel, ...inThread }, call.signal),
      );
      return {
        messageIds: await sendParts(text === "" ? files : [post, ...files]),
        sentAt: new Date(),
      };
    },

    async findSent({ address, text, attachments, replyToMessageId }, call) {
      // Shared files carry no key of ours.
      if (text === "" || attachments.length > 0)
        throw new ChannelError(
          "timeout_unknown",
          "Slack cannot report whether the files were sent.",
        );
      const oldest = String(now() / 1000 - LOOK_BACK_SECONDS);
      const thread = address.threadId ?? replyToMessageId;
      const place = thread === undefined ? address : { ...address, threadId: thread };
      const page = await history(place, { oldest, limit: 200, include_all_metadata: true }, call);
      const found = page.messages.find(
        (message) => message.metadata?.event_payload?.key === call.idempotencyKey,
      );
      if (found) return { messageIds: [found.ts], sentAt: new Date(Number(found.ts) * 1000) };
      if (page.has_more === true)
        throw new ChannelError(
          "timeout_unknown",
          "Too much was said since to find out whether Slack took it.",
        );
      return null;
    },
  } satisfies Partial<ChannelAdapter>;
}
