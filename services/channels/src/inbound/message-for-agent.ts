import { createHash } from "node:crypto";
import type { SaidOrigin } from "@switchyard/contracts/run-context";
import type { InboundRecord } from "./inbound-store.ts";

const MAX_MESSAGE = 32_768;
const CUT = "\n[the rest of this message was cut]";

/** What the agent is told. In a group it has to know who speaks; a name there is data and one line. */
export function messageFor({ address, sender, text, attachments }: InboundRecord): string {
  const name = (sender.name ?? sender.username ?? sender.id).replaceAll(/[\n:]/g, " ").trim();
  const from = address.target.kind === "user" ? "" : `${name}: `;
  const files = attachments.map(({ name: file = "file" }) => `[attachment: ${file}]`);
  const whole = [`${from}${text}`, ...files].join("\n").trim();
  if (whole.length <= MAX_MESSAGE) return whole;
  return (whole.slice(0, MAX_MESSAGE - CUT.length - 1) + CUT).toWellFormed();
}

/** What the policy learns of where the message came from. */
export function originFor({ address, sender }: InboundRecord): SaidOrigin {
  const { channel, target } = address;
  const group = target.kind === "user" ? {} : { group: placeOf(target.id) };
  return { channel, ...group, owner: sender.isOwner };
}

/** An id as the policy can name it; others by a digest, which no plain id looks like. */
function placeOf(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,127}$/.test(id)) return id;
  if (/^-\d{1,64}$/.test(id)) return `g${id}`;
  return `g#${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}
