import { cleanName } from "@switchyard/contracts/channels/group-message";
import type { RunChat } from "@switchyard/contracts/agent-runner/run-context";

/**
 * Returns the part of the first message that describes the chat of a run. Ids and names are texts of others, so they are written as JSON,
 * in one line.
 */
export function chatNote({ address, messageId, sender }: RunChat): string {
  const { channel, accountId, target, threadId } = address;
  const facts = {
    channel,
    accountId,
    chat: `${target.kind}:${target.id}`,
    ...(threadId !== undefined && { threadId }),
    ...(messageId !== undefined && { messageId }),
    ...(sender !== undefined && {
      sender: {
        id: sender.id,
        ...(sender.name !== undefined && { name: cleanName(sender.name) }),
      },
    }),
  };
  return `[This run works for a chat: ${JSON.stringify(facts)}. Message tools act in it when no target is named.]`;
}
