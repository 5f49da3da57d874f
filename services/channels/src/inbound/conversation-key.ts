import { createHash } from "node:crypto";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { cutText } from "@switchyard/contracts/cut-text";

const MAX_LENGTH = 128;
const DIGEST_LENGTH = 24;

/**
 * Returns the session key of a conversation: `agent:<agent>:<channel>:direct|group|channel:<id>[:thread:<id>]`, with the account
 * where it is not `default`. Ids of providers are untrusted: an id that is invalid in a key, or that would read as another key,
 * is replaced by a digest.
 */
export function conversationKey(
  agent: string,
  { channel, accountId, target, threadId }: Address,
): string {
  const place = target.kind === "user" ? "direct" : target.kind;
  const account = accountId === "default" ? "" : `${accountId}:`;
  const thread = threadId === undefined ? "" : `:thread:${partOf(threadId)}`;
  const key = `agent:${agent}:${channel}:${account}${place}:${partOf(target.id)}${thread}`;
  if (key.length <= MAX_LENGTH) return key;
  return `${cutText(key, MAX_LENGTH - DIGEST_LENGTH - 1)}#${digestOf(key)}`;
}

/** A plain id stays readable; anything else can be no other id's digest, because those begin with `#`. */
function partOf(id: string): string {
  return /^[A-Za-z0-9_.@+-]{1,64}$/.test(id) ? id : `#${digestOf(id)}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_LENGTH);
}
