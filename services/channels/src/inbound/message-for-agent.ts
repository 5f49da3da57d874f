import { createHash } from "node:crypto";
import { cutText } from "@switchyard/contracts/cut-text";
import { fileLine, groupMessage } from "@switchyard/contracts/group-message";
import type { SaidOrigin } from "@switchyard/contracts/run-context";
import type { InboundRecord } from "./inbound-store.ts";

const MAX_MESSAGE = 32_768;
const CUT = "\n[the rest of this message was cut]";

/** The text that the agent gets. In a group it names the writer. */
export function messageFor({ address, sender, text, attachments }: InboundRecord): string {
  const files = attachments.map(({ name = "file" }) => name);
  const whole =
    address.target.kind === "user"
      ? [text, ...files.map(fileLine)].join("\n").trim()
      : groupMessage({ id: sender.id, name: sender.name || sender.username, text, files });
  if (whole.length <= MAX_MESSAGE) return whole;
  return cutText(whole, MAX_MESSAGE - CUT.length) + CUT;
}

/** Returns the origin of the message for the policy. */
export function originFor({ address, sender }: InboundRecord): SaidOrigin {
  const { channel, target } = address;
  const group = target.kind === "user" ? {} : { group: placeOf(target.id) };
  return { channel, ...group, owner: sender.isOwner };
}

/** Returns an id in a form that the policy can name; any other id as a digest, which no plain id equals. */
function placeOf(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,127}$/.test(id)) return id;
  if (/^-\d{1,64}$/.test(id)) return `g${id}`;
  return `g#${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}
