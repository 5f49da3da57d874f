import { within } from "@switchyard/contracts/timeouts";
import { randomBytes } from "node:crypto";
import {
  parseTarget,
  type Address,
  type ChannelAction,
} from "@switchyard/contracts/channels/channel-address";
import type {
  channelErrors,
  readChannelMessages,
  resolveTarget,
} from "@switchyard/contracts/channels/channels";
import type { Fail } from "@switchyard/contracts/errors";
import type { z } from "zod";
import type { Account } from "../accounts/accounts.ts";
import { ChannelError, type AdapterCall, type MessageAt } from "../adapters/adapter.ts";
import { accountFor, requireAction, requireOwnChat, type SendParts } from "./send-message.ts";

type Failures = Fail<typeof channelErrors>;
type ActParts = Pick<SendParts, "accounts"> & { readonly sendMs: number };
interface AskedBy {
  readonly caller: string;
  readonly fail: Failures;
}

interface Ref {
  readonly address: Omit<Address, "accountId"> & { readonly accountId?: string | undefined };
  readonly messageId: string;
  readonly authorId?: string | undefined;
}

/** Performs an action on an existing message. It is idempotent, so the caller may retry after an unknown outcome. */
export async function actOn(
  parts: ActParts,
  { message, action }: { readonly message: Ref; readonly action: ChannelAction },
  asked: AskedBy & {
    readonly act: (account: Account, at: MessageAt, call: AdapterCall) => Promise<void> | undefined;
  },
) {
  const { caller, fail, act } = asked;
  const account = accountFor(parts.accounts, { caller, ...message.address }, fail);
  requireOwnChat(account, { caller, target: message.address.target }, fail);
  requireAction(account, action, fail);
  const { messageId, authorId } = message;
  const address: Address = { ...message.address, accountId: account.settings.accountId };
  const at = { address, messageId, ...(authorId === undefined ? {} : { authorId }) };
  await inTime(parts, { account, action, fail }, async (call) => {
    const done = act(account, at, call);
    if (done === undefined) throw notThere(account, action);
    await done;
  });
  const { channel: handledBy } = account.settings;
  return { kind: "action" as const, action, address, messageId, handledBy };
}

export async function readMessages(
  parts: ActParts,
  request: z.output<typeof readChannelMessages.request>,
  { caller, fail }: AskedBy,
) {
  const account = accountFor(parts.accounts, { caller, ...request.address }, fail);
  requireOwnChat(account, { caller, target: request.address.target }, fail);
  requireAction(account, "read", fail);
  const address: Address = { ...request.address, accountId: account.settings.accountId };
  const { limit, before, after } = request;
  const page = {
    limit,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  };
  const messages = await inTime(parts, { account, action: "read", fail }, async (call) => {
    const read = account.adapter.read?.(address, page, call);
    if (read === undefined) throw notThere(account, "read");
    return read;
  });
  return { address, messages: [...messages] };
}

/** Resolves a target: `user:42` and the like directly, every other text by the provider. */
export async function findTarget(
  parts: ActParts,
  { channel, accountId, query, kind: wanted }: z.output<typeof resolveTarget.request>,
  { caller, fail }: AskedBy,
) {
  const account = accountFor(parts.accounts, { caller, channel, accountId }, fail);
  const kind = wanted ?? null;
  const own = account.settings.accountId;
  const literal = parseTarget(query);
  const resolved = await inTime(parts, { account, action: "resolve", fail }, async (call) => {
    const { adapter } = account;
    const known = adapter.capabilities.actions.includes("resolve")
      ? await adapter.resolve?.({ text: query, kind }, call)
      : undefined;
    if (known !== undefined) return known;
    if (literal !== null) return { target: literal };
    throw new ChannelError(
      "invalid_target",
      `channel ${channel} cannot look up ${JSON.stringify(query)}; write user:ID, group:ID or channel:ID`,
    );
  });
  const { target } = resolved;
  if (kind !== null && target.kind !== kind)
    throw fail.invalid_target(
      `Channel id ${JSON.stringify(query)} resolved to a ${target.kind} target.`,
      { channel, accountId: own },
    );
  const threadId = "threadId" in resolved ? resolved.threadId : undefined;
  const displayName = "displayName" in resolved ? (resolved.displayName ?? null) : null;
  const address = {
    channel,
    accountId: own,
    target,
    ...(threadId === undefined ? {} : { threadId }),
  };
  return { address, displayName };
}

function notThere({ settings }: Account, action: ChannelAction): ChannelError {
  return new ChannelError(
    "unsupported",
    `Message action ${action} not supported for channel ${settings.channel}.`,
  );
}

/** Limits the duration of an adapter's call, and converts its errors into the contract's. */
async function inTime<T>(
  { sendMs }: ActParts,
  asked: { readonly account: Account; readonly action: ChannelAction; readonly fail: Failures },
  work: (call: AdapterCall) => Promise<T>,
): Promise<T> {
  const { account, action, fail } = asked;
  const signal = AbortSignal.timeout(sendMs);
  try {
    const idempotencyKey = randomBytes(16).toString("hex");
    return await within(work({ idempotencyKey, signal }), { signal }, () => {
      throw new ChannelError("timeout_unknown", `the provider did not answer in ${sendMs} ms`);
    });
  } catch (error) {
    throw errorOf(error, { account, action, fail });
  }
}

/** Converts an adapter's error into a declared one, without the account's secrets. */
function errorOf(
  error: unknown,
  { account, action, fail }: { account: Account; action: ChannelAction; fail: Failures },
): Error {
  const { channel, accountId } = account.settings;
  const where = { channel, accountId };
  const text = account.redact(error instanceof Error ? error.message : String(error));
  if (!(error instanceof ChannelError))
    return fail.provider_error(text, { ...where, messageIds: [] });
  switch (error.code) {
    case "invalid_target":
    case "not_found":
    case "not_allowed":
      return fail[error.code](text, where);
    case "unsupported":
      return fail.unsupported(text, { ...where, action });
    case "rate_limited":
      return fail.rate_limited(text, { ...where, retryAfterMs: error.retryAfterMs ?? 1_000 });
    case "timeout_unknown":
      return fail.timeout_unknown(text, { ...where, sendId: null, messageIds: [] });
    case "provider_error":
      return fail.provider_error(text, { ...where, messageIds: [] });
    default:
      return error.code satisfies never;
  }
}
