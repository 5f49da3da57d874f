import { createHash } from "node:crypto";
import { ProviderId } from "@switchyard/contracts/channels/channel-address";
import { cutText } from "@switchyard/contracts/cut-text";
import { cleanName, fileLine, groupMessage } from "@switchyard/contracts/channels/group-message";
import type { RunChat, SaidOrigin } from "@switchyard/contracts/agent-runner/run-context";
import type { InboundRecord } from "./inbound-store.ts";

const MAX_MESSAGE = 32_768;
const CUT = "\n[the rest of this message was cut]";

/** The text that the agent gets. In a group it names the writer. */
export function messageFor({ address, sender, text, attachments }: InboundRecord): string {
  const files = attachments.map(({ name = "file", problem }) => ({ name, problem }));
  const whole =
    address.target.kind === "user"
      ? [text, ...files.map(fileLine)].join("\n").trim()
      : groupMessage({ id: sender.id, name: sender.name || sender.username, text, files });
  if (whole.length <= MAX_MESSAGE) return whole;
  return cutText(whole, MAX_MESSAGE - CUT.length) + CUT;
}

/** Returns the origin of the message for the policy. */
export function originFor({ address, messageId, sender }: InboundRecord): SaidOrigin {
  const { channel, target } = address;
  const group = target.kind === "user" ? {} : { group: placeOf(target.id) };
  return { channel, ...group, chat: chatOf({ address, messageId, sender }), owner: sender.isOwner };
}

/** An id that no request can contain, such as one that is too long, is left out. */
function chatOf({
  address,
  messageId,
  sender,
}: Pick<InboundRecord, "address" | "messageId" | "sender">): RunChat {
  const name = cleanName(sender.name ?? sender.username ?? "");
  return {
    address,
    ...(ProviderId.safeParse(messageId).success && { messageId }),
    ...(ProviderId.safeParse(sender.id).success && {
      sender: { id: sender.id, ...(name !== "" && { name }) },
    }),
  };
}

/** Returns an id in a form that the policy can name; any other id as a digest, which no plain id equals. */
function placeOf(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,127}$/.test(id)) return id;
  if (/^-\d{1,64}$/.test(id)) return `g${id}`;
  return `g#${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}
