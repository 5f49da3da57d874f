import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { claimChatLink } from "@switchyard/contracts/policy/chat-links";
import { cutText } from "@switchyard/contracts/cut-text";
import { isError } from "@switchyard/contracts/errors";
import type { Log } from "@switchyard/service/log";
import type { Account } from "../accounts/accounts.ts";
import type { IncomingMessage } from "../adapters/adapter.ts";
import { takesDecisions } from "./places.ts";
import type { Outbox } from "../outbound/outbox.ts";
import { BEGINNING, sendIdOf } from "../outbound/send-message.ts";

export interface LinkParts {
  readonly bus: Bus;
  readonly outbox: Pick<Outbox, "send">;
  readonly holder: string;
  readonly log: Log;
  readonly now: () => number;
}

/** A line with a code alone, such as the subject of a mail, or behind the command with which Telegram opens a bot by an address. */
const CODE = /^(?:\/start(?:@\w+)?\s+)?(link-[a-z2-7]{26})\s*$/im;
const SEND_MS = 600_000;

/**
 * Handles a message that is a code of `yard channels link`: it becomes no message for an agent, whatever the account's rules are. Returns
 * false for any other message. Rejects when the answer cannot be stored; then the message must not be acknowledged.
 */
export async function linkChat(
  parts: LinkParts,
  account: Account,
  message: IncomingMessage,
): Promise<boolean> {
  const { adapter, settings } = account;
  const [, code] = CODE.exec(message.text.trim()) ?? [];
  if (!takesDecisions(adapter) || code === undefined || message.sender.isBot === true) return false;
  const { channel, accountId } = settings;
  const { target, sender } = message;
  const text = await claim(parts, {
    code: code.toLowerCase(),
    identity: { channel, accountId, personId: sender.id },
    isPrivate: target.kind === "user" && target.id === sender.id,
    hasButtons: adapter.edit !== undefined,
  });
  await answerMessage(parts, account, { message, text, purpose: "!link" });
  return true;
}

/** Sends a text in reply to a message, once. Rejects when it cannot be stored. */
export async function answerMessage(
  { outbox, holder, now }: Pick<LinkParts, "outbox" | "holder" | "now">,
  account: Account,
  {
    message,
    text,
    purpose,
  }: { readonly message: IncomingMessage; readonly text: string; readonly purpose: string },
): Promise<void> {
  const { channel, accountId, entry } = account.settings;
  const { target, threadId, messageId } = message;
  const address = { channel, accountId, target, ...(threadId === undefined ? {} : { threadId }) };
  const about = { address, messageId };
  await outbox.send(
    account,
    {
      sendId: sendIdOf(purpose, canonicalDigest(about)),
      caller: entry.caller,
      digest: canonicalDigest(about),
      at: new Date(now()).toISOString(),
      address,
      text,
      pieces: [text],
      attachments: [],
      silent: false,
      degraded: [],
      about: { tool: null, runId: null, sessionKey: null, answerTo: null },
      ...BEGINNING,
      isAnnounced: false,
      holder,
      patientUntil: now() + SEND_MS,
    },
    now(),
  );
}

/** Returns the answer for the person. */
async function claim(
  { bus, log }: LinkParts,
  asked: {
    readonly code: string;
    readonly identity: {
      readonly channel: string;
      readonly accountId: string;
      readonly personId: string;
    };
    readonly isPrivate: boolean;
    readonly hasButtons: boolean;
  },
): Promise<string> {
  const { hasButtons, ...request } = asked;
  try {
    const { link } = await call(bus, claimChatLink, request);
    const elsewhere = hasButtons
      ? "You can decide by the buttons in groups of this bot."
      : "No calls are sent here: make a code with --ask for that.";
    const asks = link.asks ? "Calls that you may decide about are sent here." : elsewhere;
    return `You decide here as ${link.caller}, until ${cutText(link.expiresAt, 10)}. ${asks} To end it: yard channels unlink ${link.id}`;
  } catch (error) {
    log.info({ err: error, personId: asked.identity.personId }, "chat not linked");
    if (isError(error, claimChatLink, "unknown_code"))
      return error.data.reason === "not_private"
        ? "Not linked: others can read this code, so it has ended. Make a new one and send it to me in private."
        : "Not linked: the code was used or is too old. Make a new one with: yard channels link";
    return "Not linked: the policy service does not answer. Send the code again later.";
  }
}
