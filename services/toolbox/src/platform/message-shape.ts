import type { AddressInput } from "@switchyard/contracts/channels/channel-address";
import { z } from "zod";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import type { AsCaller } from "./as-caller.ts";
import { addressOf, crossing, deliveryOf, deliveryShape } from "./message-delivery.ts";
import type { DeliveryContext } from "./message-delivery.ts";
import { CallerSession } from "./session-tools.ts";
import type { CurrentSettings } from "@switchyard/service/settings-file";
import type { ToolSettings } from "./tool-settings.ts";

// The parameters shared by the message tools.

export const Text = z.string().max(100_000);
export const MessageId = z.string().min(1).max(256);
export const shape = { ...deliveryShape, callerSession: CallerSession };

export interface MessageParts {
  readonly asCaller: AsCaller;
  readonly settings: CurrentSettings<ToolSettings>;
}

export function targetText({ target }: Pick<AddressInput, "target">): string {
  return `${target.kind}:${target.id}`;
}

/**
 * Returns the address that a call is about, and the prefix of a text for it. Throws a ToolError when the address is incomplete, and when
 * the caller works in another chat and may not reach this one.
 */
export async function reachOf(
  parts: MessageParts,
  context: ToolContext,
  asked: {
    readonly named: DeliveryContext;
    readonly target?: string | undefined;
    readonly action: string;
  },
): Promise<{ readonly to: AddressInput; readonly mark: string }> {
  const { named, target, action } = asked;
  const delivery = deliveryOf(context, named);
  const to = await addressOf(parts.asCaller, context, { delivery, target, action });
  return { to, mark: await markOf(parts, { action, delivery, to }) };
}

/** Returns the prefix of a text for another chat; throws a ToolError when messages to it are not allowed. */
async function markOf(
  { settings }: Pick<MessageParts, "settings">,
  {
    action,
    delivery,
    to,
  }: { readonly action: string; readonly delivery: DeliveryContext; readonly to: AddressInput },
): Promise<string> {
  const across = crossing(delivery, to);
  if (across === "none") return "";
  const { originChannel = "", originTo = "" } = delivery;
  const { allowAcrossProviders, allowWithinProvider, prefix } = (await settings()).message
    .crossContext;
  if (across === "channel" && !allowAcrossProviders)
    throw new ToolError(
      `Cross-context messaging denied: action=${action} target provider "${to.channel}" while bound to "${originChannel}".`,
    );
  if (across === "chat" && !allowWithinProvider)
    throw new ToolError(
      `Cross-context messaging denied: action=${action} target="${targetText(to)}" while bound to "${originTo}" (channel=${originChannel}).`,
    );
  return prefix.replaceAll("{channel}", originChannel);
}

/** A call that is made again under its id is sent once. */
export function aboutCaller({ callId, runId }: ToolContext, callerSession: string | undefined) {
  const sessionKey = runId === null ? callerSession : undefined;
  return {
    ...(callId !== undefined && { idempotencyKey: callId }),
    ...(runId !== null && { runId }),
    ...(sessionKey !== undefined && { sessionKey }),
  };
}
