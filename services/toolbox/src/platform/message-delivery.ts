import { parseTarget, type AddressInput } from "@switchyard/contracts/channels/channel-address";
import { listChannelAccounts, resolveTarget } from "@switchyard/contracts/channels/channels";
import { ServiceError } from "@switchyard/contracts/errors";
import { z } from "zod";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import type { AsCaller } from "./as-caller.ts";
import { setByClient } from "./set-by-client.ts";

const Id = z.string().min(1).max(256);

/**
 * The address of a message. The client of a coding agent sets the fields that begin with `origin`, for the chat that the agent works in; a
 * model never does. The toolbox takes those of a run from its token.
 */
export const deliveryShape = {
  channel: z.string().max(24).optional().describe("Left out: the channel of this chat"),
  accountId: z.string().max(32).optional(),
  originChannel: setByClient(z.string().max(24).optional(), "The channel that you work in"),
  originAccountId: setByClient(z.string().max(32).optional(), "The account that you work with"),
  originTo: setByClient(Id.optional(), "The chat that you work in"),
  originThreadId: setByClient(Id.optional(), "The thread that you work in"),
  originMessageId: setByClient(Id.optional(), "The message that you answer"),
};
export const Target = z
  .string()
  .min(1)
  .max(512)
  .describe("user:<id>, group:<id>, channel:<id>, or a name that the channel knows");

export interface DeliveryContext {
  readonly channel?: string | undefined;
  readonly accountId?: string | undefined;
  readonly originChannel?: string | undefined;
  readonly originAccountId?: string | undefined;
  readonly originTo?: string | undefined;
  readonly originThreadId?: string | undefined;
  readonly originMessageId?: string | undefined;
}

/** Returns the chat that the caller works in: that of its token, or the one that the client of a coding agent names. */
export function deliveryOf(
  { runId, chat }: Pick<ToolContext, "runId" | "chat">,
  named: DeliveryContext,
): DeliveryContext {
  const { channel, accountId } = named;
  if (chat === null) return runId === null ? named : { channel, accountId };
  const { address, messageId } = chat;
  const { target, threadId } = address;
  return {
    channel,
    accountId,
    originChannel: address.channel,
    originAccountId: address.accountId,
    originTo: `${target.kind}:${target.id}`,
    originThreadId: threadId,
    originMessageId: messageId,
  };
}

/** Returns the address of a target, or of the chat that the caller works in. Throws a ToolError that names a missing part. */
export async function addressOf(
  asCaller: AsCaller,
  context: ToolContext,
  wanted: {
    readonly delivery: DeliveryContext;
    readonly target?: string | undefined;
    readonly action: string;
  },
): Promise<AddressInput> {
  const { delivery, action } = wanted;
  const target = wanted.target ?? delivery.originTo;
  if (target === undefined)
    throw new ToolError(
      context.runId === null
        ? `Action ${action} requires a target.`
        : `Explicit message target required for this run. Give target, and channel where there are several: action ${action} does not know a chat that the run works in.`,
    );
  const { originChannel, originAccountId } = delivery;
  const channel = delivery.channel ?? originChannel ?? (await onlyChannel(asCaller, context));
  const { accountId = channel === originChannel ? originAccountId : undefined } = delivery;
  const account = accountId === undefined ? {} : { accountId };
  // A message to the chat of its caller stays in the caller's thread.
  const isHere = target === delivery.originTo;
  const thread =
    isHere && delivery.originThreadId !== undefined ? { threadId: delivery.originThreadId } : {};
  const parsed = parseTarget(target);
  if (parsed !== null) return { channel, ...account, target: parsed, ...thread };
  const request = { channel, ...account, query: target };
  const { address } = await asCaller(context, resolveTarget, request).catch(channelError(action));
  return { ...address, ...thread };
}

/** The channels that the caller may use. */
export async function channelsOf(asCaller: AsCaller, context: ToolContext): Promise<string[]> {
  const { accounts } = await asCaller(context, listChannelAccounts, {}).catch(channelError("send"));
  return [...new Set(accounts.map(({ channel }) => channel))];
}

/** Returns how the address differs from the chat that the caller works in. */
export function crossing(
  delivery: DeliveryContext,
  address: AddressInput,
): "none" | "chat" | "channel" {
  const { originChannel, originAccountId, originTo } = delivery;
  if (originChannel === undefined || originTo === undefined) return "none";
  if (address.channel !== originChannel) return "channel";
  const { accountId = originAccountId } = address;
  if (originAccountId !== undefined && accountId !== originAccountId) return "chat";
  const { kind, id } = address.target;
  return originTo === `${kind}:${id}` || originTo === id ? "none" : "chat";
}

async function onlyChannel(asCaller: AsCaller, context: ToolContext): Promise<string> {
  const [only, ...others] = await channelsOf(asCaller, context);
  if (only === undefined) throw new ToolError("There is no channel that you may use.");
  if (others.length === 0) return only;
  throw new ToolError(
    `Channel is required when several are configured: ${[only, ...others].join(", ")}.`,
  );
}

/** The channels' errors as a model reads them, under the codes of the contract in capitals. */
export function channelError(action: string) {
  return (error: unknown): never => {
    if (!(error instanceof ServiceError) || error.code === "internal") throw error;
    if (error.code === "unsupported") {
      const { channel }: { channel?: unknown } = Object(error.data);
      throw new ToolError(
        `UNSUPPORTED: Message action ${action} not supported for channel ${String(channel)}. ${error.message}`,
      );
    }
    const isUnsure = error.code === "deadline_exceeded" || error.code === "timeout";
    const code = isUnsure ? "TIMEOUT_UNKNOWN" : error.code.toUpperCase();
    throw new ToolError(`${code}: ${error.message}`);
  };
}
