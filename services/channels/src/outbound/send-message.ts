import { createHash, randomBytes } from "node:crypto";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Address, ChannelAction } from "@switchyard/contracts/channels/channel-address";
import type { sendChannelMessage } from "@switchyard/contracts/channels/channels";
import type { Fail } from "@switchyard/contracts/errors";
import type { z } from "zod";
import type { Account } from "../accounts/accounts.ts";
import { shownTypeOf } from "@switchyard/service/files/file-type";
import { findAccount, isForeignChat } from "../accounts/find-account.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { OutgoingAttachment } from "../adapters/adapter.ts";
import { AttachmentError, loadAttachments, type AttachmentLimits } from "./attachments.ts";
import { messagePieces } from "./message-pieces.ts";
import type { Outbox } from "./outbox.ts";
import type { SendRecord } from "./send-record.ts";

export type SendRequest = z.output<typeof sendChannelMessage.request>;
type Reply = z.input<typeof sendChannelMessage.reply>;
type Failures = Fail<typeof sendChannelMessage.errors>;

export interface SendParts {
  readonly accounts: Accounts;
  readonly outbox: Outbox;
  readonly limits: AttachmentLimits;
  readonly holder: string;
  readonly now: () => number;
}

export interface Asked {
  readonly caller: string;
  readonly fail: Failures;
  /** The deadline in milliseconds since the epoch. */
  readonly deadline: number;
}

/** A message that was certainly not sent is retried for this time, but not longer than the caller waits. */
const TIMEOUT_MS = 20_000;
/** The rest of a caller's time, reserved for the reply itself. */
const REPLY_MS = 500;

/** Sends a message: account → capabilities → attachments → intent → pieces. Throws the contract's errors. */
export async function sendMessage(
  parts: SendParts,
  request: SendRequest,
  asked: Asked,
): Promise<Reply> {
  const { fail, caller, deadline } = asked;
  const account = accountFor(parts.accounts, { caller, ...request.to }, fail);
  requireOwnChat(account, { caller, target: request.to.target }, fail);
  const { capabilities } = account.adapter;
  const address: Address = { ...request.to, accountId: account.settings.accountId };
  for (const action of actionsOf(request)) requireAction(account, action, fail);
  const degraded = degradedBy(account, request, fail);
  const attached = await checkAttachments(account, request, { ...parts, fail });
  const where = { handledBy: account.settings.channel, degraded };
  if (request.dryRun)
    return {
      kind: "send",
      sendId: newSendId(),
      address,
      messageIds: [],
      sentAt: null,
      dryRun: true,
      replayed: false,
      loadedFiles: attached.map(({ name, mimeType, bytes, sha256 }) => ({
        name,
        mediaType: shownTypeOf(bytes, mimeType),
        sizeBytes: bytes.length,
        sha256,
      })),
      ...where,
    };
  const untilMs = Math.min(deadline - REPLY_MS, parts.now() + TIMEOUT_MS);
  const intent = intentOf(request, {
    caller,
    address,
    degraded,
    pieces: messagePieces(request.text, capabilities.maxTextLength),
    holder: parts.holder,
    nowMs: parts.now(),
    patientUntil: untilMs,
  });
  const fate = await parts.outbox.send(account, intent, deadline - REPLY_MS);
  if (fate.kind === "conflict") {
    const { sendId } = intent;
    throw fail.idempotency_conflict("the key was used for another message; use a new one", {
      sendId,
    });
  }
  const { sendId } = fate.record;
  if (fate.kind === "under-way")
    throw fail.still_sending(
      `message ${sendId} is being sent; retry with the same idempotencyKey, or follow its event`,
      { sendId },
    );
  if (fate.record.state !== "sent") throw failureOf(fate.record, fail);
  const { messageIds, sentAt } = fate.record;
  return {
    kind: "send",
    sendId,
    address,
    messageIds,
    sentAt,
    dryRun: false,
    replayed: fate.isReplay,
    ...where,
  };
}

/** Returns the account that the caller names. Throws `unknown_account`. */
export function accountFor(
  accounts: Accounts,
  asked: {
    readonly caller: string;
    readonly channel: string;
    readonly accountId?: string | undefined;
  },
  fail: Pick<Failures, "unknown_account">,
): Account {
  const found = findAccount(accounts, asked);
  if ("account" in found) return found.account;
  const { channel, accountId = null } = asked;
  throw fail.unknown_account(found.message, { channel, accountId, known: found.known });
}

/** Throws `not_allowed` for a conversation of another caller. */
export function requireOwnChat(
  account: Account,
  asked: { readonly caller: string; readonly target: Address["target"] },
  fail: Pick<Failures, "not_allowed">,
): void {
  const { channel, accountId } = account.settings;
  if (!isForeignChat(account, asked)) return;
  throw fail.not_allowed("in webchat you have the conversation with your own name alone", {
    channel,
    accountId,
  });
}

/** Throws `unsupported` for an action that the account does not have [N4]. */
export function requireAction(
  { settings, adapter }: Account,
  action: ChannelAction,
  fail: Pick<Failures, "unsupported">,
): void {
  const { channel, accountId } = settings;
  if (adapter.capabilities.actions.includes(action)) return;
  throw fail.unsupported(`Message action ${action} not supported for channel ${channel}.`, {
    channel,
    accountId,
    action,
  });
}

function actionsOf({ to, replyToMessageId, attachments }: SendRequest): ChannelAction[] {
  return [
    "send",
    ...(replyToMessageId === undefined ? [] : (["reply"] as const)),
    ...(to.threadId === undefined ? [] : (["thread"] as const)),
    ...(attachments.length === 0 ? [] : (["attachments"] as const)),
  ];
}

/** An unsupported effect is refused, unless the request allows to send without it. */
function degradedBy(
  { settings, adapter }: Account,
  { effectId, effectFallback, silent }: SendRequest,
  fail: Failures,
): string[] {
  const { actions, effects } = adapter.capabilities;
  const { channel, accountId } = settings;
  const hasEffect =
    effectId === undefined || (actions.includes("effects") && effects.includes(effectId));
  if (!hasEffect && effectFallback === "refuse") {
    const listed = effects.length === 0 ? "it has none" : `it has ${effects.join(", ")}`;
    throw fail.unsupported(
      `channel ${channel} has no effect ${effectId}; ${listed}; effectFallback: plain sends without it`,
      { channel, accountId, action: "effects" },
    );
  }
  return [
    ...(hasEffect ? [] : ["effect"]),
    ...(silent && !actions.includes("silent") ? ["silent"] : []),
  ];
}

/** Loads the attachments once to report errors early; they are loaded again when they are sent. */
async function checkAttachments(
  { settings, adapter }: Account,
  { attachments }: SendRequest,
  { limits, fail }: { readonly limits: AttachmentLimits; readonly fail: Failures },
): Promise<OutgoingAttachment[]> {
  if (attachments.length === 0) return [];
  const ownLimit = adapter.capabilities.media?.maxBytes ?? 0;
  try {
    return await loadAttachments(attachments, {
      ...limits,
      maxBytes: Math.min(limits.maxBytes, ownLimit),
    });
  } catch (error) {
    if (!(error instanceof AttachmentError)) throw error;
    const { source } = error;
    const shown = source.split("?", 1)[0] ?? source;
    throw fail.bad_attachment(`attachment ${shown} for ${settings.channel}: ${error.message}`, {
      source: shown,
    });
  }
}

function intentOf(
  request: SendRequest,
  known: {
    readonly caller: string;
    readonly address: Address;
    readonly degraded: string[];
    readonly pieces: string[];
    readonly holder: string;
    readonly nowMs: number;
    readonly patientUntil: number;
  },
): SendRecord {
  const { text, attachments, replyToMessageId, effectId, silent, idempotencyKey } = request;
  const { tool = null, runId = null, sessionKey = null } = request;
  const { caller, address, degraded, pieces, holder, nowMs, patientUntil } = known;
  // A repeated request is the same message, although its sender checked the attachments again.
  const named = attachments.map((attachment) => ({ ...attachment, sha256: undefined }));
  const asked = { address, text, attachments: named, replyToMessageId, effectId, silent };
  const hasEffect = effectId !== undefined && !degraded.includes("effect");
  // Only messages of agents and jobs need a note; a message sent by hand names neither tool nor run.
  const isNoted = tool === null && runId === null;
  return {
    sendId: idempotencyKey === undefined ? newSendId() : sendIdOf(caller, idempotencyKey),
    caller,
    // JSON leaves out keys with the value undefined.
    digest: canonicalDigest(JSON.parse(JSON.stringify(asked))),
    at: new Date(nowMs).toISOString(),
    address,
    text,
    pieces,
    attachments,
    ...(replyToMessageId === undefined ? {} : { replyToMessageId }),
    ...(hasEffect ? { effectId } : {}),
    silent,
    degraded,
    about: { tool, runId, sessionKey, answerTo: null },
    ...BEGINNING,
    isNoted,
    holder,
    patientUntil,
  };
}

/** The initial state of every send. */
export const BEGINNING = {
  state: "open",
  next: 0,
  isOnItsWay: false,
  triedAt: null,
  attempts: 0,
  messageIds: [] as string[],
  sentAt: null,
  failure: null,
  isAnnounced: true,
  isTold: false,
  isNoted: true,
} as const;

function failureOf({ failure, address, sendId, messageIds }: SendRecord, fail: Failures): Error {
  const { channel, accountId } = address;
  const where = { channel, accountId };
  const said = failure?.message ?? "no reason is known";
  const part = messageIds.length === 0 ? "" : ` (${messageIds.length} pieces of it were sent)`;
  switch (failure?.code) {
    case "invalid_target":
    case "not_found":
    case "not_allowed":
      return fail[failure.code](said + part, where);
    case "unsupported":
      return fail.unsupported(said + part, { ...where, action: "send" });
    case "bad_attachment":
      return fail.bad_attachment(said, { source: "" });
    case "rate_limited":
      return fail.rate_limited(said + part, {
        ...where,
        retryAfterMs: failure.retryAfterMs ?? 1_000,
      });
    case "timeout_unknown":
      return fail.timeout_unknown(said + part, { ...where, sendId, messageIds });
    default:
      return fail.provider_error(said + part, { ...where, messageIds });
  }
}

/** Returns the id of a message that a caller sends under a key: the same key is the same message. */
export function sendIdOf(caller: string, key: string): string {
  const digest = createHash("sha256").update(`${caller}\n${key}`).digest("hex");
  return `snd-${digest.slice(0, 32)}`;
}

function newSendId(): string {
  return `snd-${randomBytes(16).toString("hex")}`;
}
