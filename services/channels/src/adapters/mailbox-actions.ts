import type { Address, Capabilities } from "@switchyard/contracts/channels/channel-address";
import {
  ChannelError,
  type AdapterCall,
  type AdapterKit,
  type ChannelAdapter,
  type MessageAt,
  type OutgoingMessage,
  type StoredMessage,
} from "./adapter.ts";

type Actions = Required<
  Pick<ChannelAdapter, "capabilities" | "send" | "react" | "delete" | "pin" | "read" | "check">
> &
  Pick<ChannelAdapter, "close">;

/** The actions of adapters that use the service's own mailbox instead of a provider. */
export function mailboxActions(kit: AdapterKit, capabilities: Capabilities): Actions {
  const { mailbox, channel, accountId } = kit;
  const change = async (
    { address, messageId }: MessageAt,
    edit: (message: StoredMessage) => StoredMessage | null,
  ): Promise<void> => {
    if (await mailbox.change(withoutThread(address), messageId, edit)) return;
    throw new ChannelError("not_found", `there is no message ${messageId} at this address`);
  };
  return {
    capabilities,
    async send(message: OutgoingMessage, call: AdapterCall) {
      const { address, text, replyToMessageId, attachments } = message;
      const { messageId, at } = await mailbox.add(
        withoutThread(address),
        {
          author: { id: accountId, name: `${channel}/${accountId}` },
          text,
          isOwn: true,
          ...(replyToMessageId === undefined ? {} : { replyToMessageId }),
          ...(address.threadId === undefined ? {} : { threadId: address.threadId }),
          attachments: attachments.map(({ name, mimeType }) => ({ name, mimeType })),
        },
        capabilities.idempotentSend ? call.idempotencyKey : null,
      );
      return { messageIds: [messageId], sentAt: at };
    },
    react: (message, { emoji, remove }) =>
      change(message, (stored) => {
        const others = (stored.reactions ?? []).filter((one) => one !== emoji);
        return { ...stored, reactions: remove ? others : [...others, emoji] };
      }),
    delete: (message) => change(message, () => null),
    pin: (message, { unpin }) => change(message, (stored) => ({ ...stored, isPinned: !unpin })),
    async read(address, { limit, before, after }) {
      const all = await mailbox.list(withoutThread(address));
      const inThread = all.filter(({ threadId }) => threadId === address.threadId);
      const [first, last] = [Number(after ?? 0), Number(before ?? Number.MAX_SAFE_INTEGER)];
      return inThread
        .filter(({ messageId }) => Number(messageId) > first && Number(messageId) < last)
        .slice(-limit);
    },
    check: () => Promise.resolve({ identity: `${channel}/${accountId}` }),
    close: () => Promise.resolve(),
  };
}

/** Threads of a target share its mailbox and its ids. */
function withoutThread({ channel, accountId, target }: Address): Address {
  return { channel, accountId, target };
}
