import { within } from "@switchyard/contracts/timeouts";
import { backoffMs } from "@switchyard/contracts/backoff";
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Account } from "../accounts/accounts.ts";
import {
  ChannelError,
  type OutgoingAttachment,
  type OutgoingMessage,
  type SentMessage,
} from "../adapters/adapter.ts";
import type { SendRecord, StoredSend } from "./send-record.ts";
import type { SendStore } from "./send-store.ts";

export interface DeliverParts {
  readonly store: SendStore;
  /** Names this process among the replicas. */
  readonly holder: string;
  /** The longest duration of one message at a provider, in milliseconds. */
  readonly sendMs: number;
  readonly now: () => number;
  readonly load: (record: SendRecord) => Promise<readonly OutgoingAttachment[]>;
  /** Aborts when the process stops: a message in flight gets its answer, no new one begins. */
  readonly stopping: AbortSignal;
}

/** The time after a send for writing its outcome. */
const MARGIN_MS = 5_000;
/** The number of attempts for a piece that the provider deduplicates by its key. */
const MAX_ATTEMPTS = 5;
const BACKOFF = { firstMs: 250, mostMs: 30_000 };
/** Providers that deduplicate forget a key after minutes; after this time no piece is sent again. */
const IDEMPOTENT_MS = 120_000;

/** Returns the time for which other replicas leave a message alone that this process sends. */
export function claimMs({ sendMs }: Pick<DeliverParts, "sendMs">): number {
  return sendMs + MARGIN_MS;
}

/**
 * Sends the rest of a message, and stores its progress before and after each piece. Resolves with the last state that this
 * process has seen: still open when another one took it over or this one stops. Rejects when the store does not answer; then the
 * record is unchanged, and the replica that processes it later continues.
 */
export async function deliverMessage(
  parts: DeliverParts,
  account: Account,
  begun: StoredSend,
): Promise<StoredSend> {
  let stored = begun;
  let loaded: readonly OutgoingAttachment[] | null = null;
  while (stored.record.state === "open") {
    const { record } = stored;
    const step = record.isOnItsWay
      ? await recover(parts, account, record)
      : { kind: "send" as const };
    if (step.kind === "end") {
      stored = (await write(parts, stored, step.record)) ?? (await reread(parts, stored));
      continue;
    }
    if (parts.stopping.aborted) return stored;
    try {
      loaded ??= await parts.load(record);
    } catch (error) {
      const ended = endWith(record, "failed", { code: "bad_attachment", message: String(error) });
      return (await write(parts, stored, ended)) ?? reread(parts, stored);
    }
    const intent = await write(parts, stored, {
      ...record,
      holder: parts.holder,
      isOnItsWay: true,
      triedAt: record.triedAt ?? parts.now(),
      attempts: record.attempts + 1,
    });
    if (intent === null) return reread(parts, stored);
    const outcome = await handOver(parts, account, messageOf(intent.record, loaded));
    const next = afterAttempt(intent.record, outcome, { now: parts.now(), account });
    const written = await write(parts, intent, next.record, next.waitMs);
    if (written === null) return reread(parts, intent);
    stored = written;
    if (next.waitMs > 0)
      await delay(next.waitMs, undefined, { signal: parts.stopping }).catch(() => {});
  }
  return stored;
}

type Outcome = { readonly sent: SentMessage } | { readonly error: ChannelError };

/** Any error other than a ChannelError may have happened after the send. */
async function handOver(
  { sendMs }: DeliverParts,
  { adapter, redact }: Account,
  { message, key }: Piece,
): Promise<Outcome> {
  const signal = AbortSignal.timeout(sendMs);
  try {
    const sent = await within(
      adapter.send(message, { idempotencyKey: key, signal }),
      { signal },
      () => {
        throw new ChannelError(
          "timeout_unknown",
          `the provider did not answer within ${sendMs} ms`,
        );
      },
    );
    return { sent };
  } catch (error) {
    if (error instanceof ChannelError) return { error: withoutSecrets(error, redact) };
    const said = error instanceof Error ? error.message : String(error);
    return { error: new ChannelError("timeout_unknown", redact(`no answer: ${said}`)) };
  }
}

/** Finds the outcome of a piece that another process handed over without writing its outcome. */
async function recover(
  { sendMs, now }: DeliverParts,
  { adapter }: Account,
  record: SendRecord,
): Promise<{ kind: "send" } | { kind: "end"; record: SendRecord }> {
  const age = now() - (record.triedAt ?? 0);
  if (mayRepeat(adapter.capabilities.idempotentSend, age, record)) return { kind: "send" };
  if (adapter.findSent !== undefined) {
    const { message, key } = messageOf(record, []);
    const signal = AbortSignal.timeout(sendMs);
    try {
      const found = await adapter.findSent(message, { idempotencyKey: key, signal });
      return found === null ? { kind: "send" } : { kind: "end", record: withSent(record, found) };
    } catch {
      // The outcome is still unknown.
    }
  }
  const message =
    "it was handed to the provider, and the answer was lost: it may have been delivered";
  return { kind: "end", record: endWith(record, "unknown", { code: "timeout_unknown", message }) };
}

function mayRepeat(isIdempotent: boolean, ageMs: number, { attempts }: SendRecord): boolean {
  return isIdempotent && ageMs < IDEMPOTENT_MS && attempts < MAX_ATTEMPTS;
}

function afterAttempt(
  record: SendRecord,
  outcome: Outcome,
  { now, account }: { readonly now: number; readonly account: Account },
): { readonly record: SendRecord; readonly waitMs: number } {
  if ("sent" in outcome) return { record: withSent(record, outcome.sent), waitMs: 0 };
  const { code, message, retryAfterMs, isFinal } = outcome.error;
  if (code === "timeout_unknown") {
    // Left on its way: the next turn of the loop finds out.
    const age = now - (record.triedAt ?? now);
    const isRepeated = mayRepeat(account.adapter.capabilities.idempotentSend, age, record);
    return { record, waitMs: isRepeated ? backoffMs(record.attempts, BACKOFF) : 0 };
  }
  const waitMs =
    code === "rate_limited" ? (retryAfterMs ?? 1_000) : backoffMs(record.attempts, BACKOFF);
  const mayPass = code === "rate_limited" || (code === "provider_error" && !isFinal);
  const notSent = { ...record, isOnItsWay: false, triedAt: null };
  if (mayPass && now + waitMs <= record.patientUntil) return { record: notSent, waitMs };
  return { record: endWith(notSent, "failed", { code, message, retryAfterMs }), waitMs: 0 };
}

function withSent(record: SendRecord, { messageIds, sentAt }: SentMessage): SendRecord {
  const next = record.next + 1;
  const isLast = next >= record.pieces.length;
  return {
    ...record,
    next,
    isOnItsWay: false,
    triedAt: null,
    attempts: 0,
    messageIds: [...record.messageIds, ...messageIds],
    sentAt: sentAt.toISOString(),
    state: isLast ? "sent" : "open",
  };
}

function endWith(
  record: SendRecord,
  state: "failed" | "unknown",
  failure: {
    readonly code: string;
    readonly message: string;
    readonly retryAfterMs?: number | null;
  },
): SendRecord {
  const { code, message, retryAfterMs = null } = failure;
  return { ...record, state, failure: { code, message, retryAfterMs } };
}

interface Piece {
  readonly message: OutgoingMessage;
  /** Each piece has a key of its own, and always the same. */
  readonly key: string;
}

/** Reply, attachments and effect go with the first piece. */
function messageOf(record: SendRecord, attachments: readonly OutgoingAttachment[]): Piece {
  const { sendId, next, address, pieces, replyToMessageId, effectId, silent } = record;
  const { buttons, verbatimFrom } = record;
  const isFirst = next === 0;
  const isLast = next === pieces.length - 1;
  return {
    key: createHash("sha256").update(`${sendId}:${next}`).digest("hex").slice(0, 32),
    message: {
      address,
      text: pieces[next] ?? "",
      attachments: isFirst ? attachments : [],
      silent,
      ...(isFirst && replyToMessageId !== undefined ? { replyToMessageId } : {}),
      ...(isFirst && effectId !== undefined ? { effectId } : {}),
      ...(isLast && buttons !== undefined ? { buttons } : {}),
      ...(isFirst && verbatimFrom !== undefined ? { verbatimFrom } : {}),
    },
  };
}

// oxlint-disable-next-line max-params -- the store's own three, and how long it rests
function write(
  parts: DeliverParts,
  stored: StoredSend,
  record: SendRecord,
  restMs = 0,
): Promise<StoredSend | null> {
  return parts.store.change(stored, record, claimMs(parts) + restMs);
}

async function reread({ store }: DeliverParts, { record }: StoredSend): Promise<StoredSend> {
  const now = await store.read(record.sendId);
  if (now === null) throw new Error(`send ${record.sendId} is gone from the store`);
  // Another replica has claimed it. It continues with an open record, so this loop ends without changing it.
  if (now.record.state !== "open") return now;
  throw new TakenOver(record.sendId);
}

/** Another replica works on it. */
export class TakenOver extends Error {
  override readonly name = "TakenOver";
  readonly sendId: string;

  constructor(sendId: string) {
    super(`another replica works on send ${sendId}`);
    this.sendId = sendId;
  }
}

function withoutSecrets(error: ChannelError, redact: (text: string) => string): ChannelError {
  const { code, message, retryAfterMs, isFinal } = error;
  const wait = retryAfterMs === null ? {} : { retryAfterMs };
  return new ChannelError(code, redact(message), { ...wait, isFinal });
}
