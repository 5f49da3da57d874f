import { createHash } from "node:crypto";
import { cutText } from "@switchyard/contracts/cut-text";
import { cleanName, LINE_BREAK } from "@switchyard/contracts/channels/group-message";
import type { Account } from "../accounts/accounts.ts";
import type { Lease } from "@switchyard/service/redis-lease";
import type { AccountEntry } from "../accounts/channels-file.ts";
import type { IncomingMessage } from "../adapters/adapter.ts";
import { admitMessage } from "./admit-message.ts";
import { conversationKey } from "./conversation-key.ts";
import type { InboundRecord, InboundStore } from "./inbound-store.ts";
import { isOwnChat } from "./last-address.ts";

export interface ReceivedMessage {
  readonly outcome: "stored" | "known" | "ignored";
  readonly reason: string | null;
}

/** More than a message of any provider has; the rest is cut off. */
const MAX_TEXT = 100_000;
/** The limit for the address or id of a file. */
const MAX_SOURCE = 2_048;

/**
 * Stores a message when the account accepts it. Rejects when the store does not answer, and when another replica has the
 * account's inbound connection meanwhile: then the message must not be acknowledged to the provider.
 */
export async function receiveMessage(
  { store, now }: { readonly store: Pick<InboundStore, "add">; readonly now: () => number },
  account: Account,
  { message, lease }: { readonly message: IncomingMessage; readonly lease: Lease | null },
): Promise<ReceivedMessage> {
  const admission = admitMessage(account.settings.entry, message);
  if (admission.kind === "ignored") return { outcome: "ignored", reason: admission.reason };
  const record = recordOf(account, { message, isOwner: admission.isOwner, nowMs: now() });
  const isLast = isOwnChat(account, { address: record.address, senderId: record.sender.id });
  const outcome = await store.add(record, lease, isLast);
  if (outcome === "lost")
    throw new Error(`the inbound connection of ${account.name} is another replica's`);
  return { outcome, reason: null };
}

function recordOf(
  { settings }: Account,
  known: { readonly message: IncomingMessage; readonly isOwner: boolean; readonly nowMs: number },
): InboundRecord {
  const { message, isOwner, nowMs } = known;
  const { channel, accountId, entry } = settings;
  const { target, threadId, messageId, sender, attachments = [], replyToMessageId } = message;
  const address = { channel, accountId, target, ...(threadId === undefined ? {} : { threadId }) };
  const dedupe = message.dedupeKey ?? JSON.stringify([target.kind, target.id, messageId]);
  const digest = createHash("sha256")
    .update(JSON.stringify([channel, accountId, dedupe]))
    .digest("hex")
    .slice(0, 32);
  return {
    inboundId: `in-${digest}`,
    at: new Date(nowMs).toISOString(),
    caller: entry.caller,
    agent: entry.agent ?? null,
    onBusy: onBusyOf(entry, { isDirect: target.kind === "user", isOwner }),
    quotes: entry.reply === "on",
    address,
    messageId,
    sender: {
      id: sender.id,
      isOwner,
      ...(sender.name === undefined ? {} : { name: cleanName(sender.name) }),
      ...(sender.username === undefined ? {} : { username: cleanName(sender.username) }),
    },
    text: cutText(plain(message.text), MAX_TEXT),
    attachments: attachments.map(attachmentOf),
    ...(replyToMessageId === undefined ? {} : { replyToMessageId }),
    // A private message addresses the account, whatever the provider reports.
    mentionsAccount: message.mentionsAccount || target.kind === "user",
    writtenAt: message.writtenAt.toISOString(),
    sessionKey: conversationKey(entry.agent ?? "none", address),
    runId: `chat-${digest}`,
    state: "new",
    isTold: false,
    sessionId: null,
    answer: null,
  };
}

function attachmentOf({
  name,
  mimeType,
  sizeBytes,
  source,
}: NonNullable<IncomingMessage["attachments"]>[number]): InboundRecord["attachments"][number] {
  return {
    name: name === undefined ? undefined : cleanName(name),
    mimeType,
    sizeBytes,
    source: source === undefined || source.length > MAX_SOURCE ? undefined : source,
  };
}

/**
 * Returns what happens to the message while a run is active. A run that an owner began has the owner's rights, so in a group only
 * an owner steers it: messages of other senders are enqueued.
 */
function onBusyOf(
  { onBusy, owners }: AccountEntry,
  { isDirect, isOwner }: { readonly isDirect: boolean; readonly isOwner: boolean },
): AccountEntry["onBusy"] {
  return onBusy === "steer" && !isDirect && !isOwner && owners.length > 0 ? "enqueue" : onBusy;
}

/** Removes control characters, and normalises line breaks. */
function plain(text: string): string {
  const lines = text.split(LINE_BREAK);
  // oxlint-disable-next-line no-control-regex -- the pattern removes these characters
  return lines.join("\n").replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F]/g, "");
}
