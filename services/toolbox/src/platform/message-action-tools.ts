import {
  deleteChannelMessage,
  pinMessage,
  reactToMessage,
  readChannelMessages,
} from "@switchyard/contracts/channels/channels";
import { z } from "zod";
import { defineTool, type Tool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { jsonResult } from "./json-result.ts";
import { channelError, deliveryOf, Target } from "./message-delivery.ts";
import { MessageId, reachOf, shape, type MessageParts } from "./message-shape.ts";

/** The tools for a message that is there, and for reading a chat [F17, F18, F21, F22]. */
export function createActionTools(parts: MessageParts): readonly Tool[] {
  return [...markTools(parts), ...chatTools(parts)];
}

function markTools(parts: MessageParts): readonly Tool[] {
  const { asCaller } = parts;
  const message_react = defineTool({
    name: "message_react",
    description: "Adds a reaction to a message of the chat that you work in, or takes it away.",
    input: z.strictObject({
      emoji: z.string().max(64),
      messageId: MessageId.optional().describe("Left out: the message that you answer"),
      remove: z.boolean().default(false),
      target: Target.optional(),
      ...shape,
    }),
    async run({ emoji, remove, target, messageId: named, ...delivery }, context) {
      if (emoji === "") throw new ToolError("react needs an emoji, also to remove it.");
      const messageId = named ?? deliveryOf(context, delivery).originMessageId;
      if (messageId === undefined)
        throw new ToolError("react needs a messageId: there is no message that you answer.");
      const { to: address } = await reachOf(parts, context, {
        named: delivery,
        target,
        action: "react",
      });
      const message = { address, messageId };
      const payload = await asCaller(context, reactToMessage, { message, emoji, remove }).catch(
        channelError("react"),
      );
      return acted(payload);
    },
  });
  const message_pin = defineTool({
    name: "message_pin",
    description: "Pins a message of the chat that you work in, or unpins it.",
    input: z.strictObject({
      messageId: MessageId,
      unpin: z.boolean().default(false),
      target: Target.optional(),
      ...shape,
    }),
    async run({ messageId, unpin, target, ...delivery }, context) {
      const { to: address } = await reachOf(parts, context, {
        named: delivery,
        target,
        action: "pin",
      });
      const message = { address, messageId };
      const payload = await asCaller(context, pinMessage, { message, unpin }).catch(
        channelError("pin"),
      );
      return acted(payload);
    },
  });
  return [message_react, message_pin] as readonly Tool[]; // each is a Tool of its own arguments
}

function chatTools(parts: MessageParts): readonly Tool[] {
  const { asCaller } = parts;
  const message_delete = defineTool({
    name: "message_delete",
    description: "Deletes a message of the chat that you work in.",
    input: z.strictObject({ messageId: MessageId, target: Target.optional(), ...shape }),
    async run({ messageId, target, ...delivery }, context) {
      const { to: address } = await reachOf(parts, context, {
        named: delivery,
        target,
        action: "delete",
      });
      const message = { address, messageId };
      const payload = await asCaller(context, deleteChannelMessage, { message }).catch(
        channelError("delete"),
      );
      return acted(payload);
    },
  });
  const message_read = defineTool({
    name: "message_read",
    description: "Reads the last messages of a chat, oldest first.",
    input: z.strictObject({
      channelId: Target.optional().describe("Left out: the chat that you work in"),
      limit: z.int().min(1).max(100).default(20),
      ...shape,
    }),
    async run({ channelId: target, limit, ...delivery }, context) {
      const { to: address } = await reachOf(parts, context, {
        named: delivery,
        target,
        action: "read",
      });
      const payload = await asCaller(context, readChannelMessages, { address, limit }).catch(
        channelError("read"),
      );
      return acted(payload);
    },
  });
  return [message_delete, message_read] as readonly Tool[]; // as above
}

function acted(payload: Record<string, unknown>) {
  return jsonResult({ kind: "action", handledBy: "plugin", payload });
}
