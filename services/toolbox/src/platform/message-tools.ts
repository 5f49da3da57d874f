import type { AddressInput } from "@switchyard/contracts/channel-address";
import {
  broadcastChannelMessage,
  deleteChannelMessage,
  pinMessage,
  reactToMessage,
  readChannelMessages,
  sendChannelMessage,
} from "@switchyard/contracts/channels";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import type { AsCaller } from "./as-caller.ts";
import { jsonResult } from "./json-result.ts";
import { addressOf, channelError, placeShape, Target, type Place } from "./message-place.ts";
import { messageText } from "./message-text.ts";
import { CallerSession } from "./session-tools.ts";

const Text = z.string().max(100_000);
const MessageId = z.string().min(1).max(256);
const Media = z.string().min(1).max(4_096).describe("https://… or a path that may be sent");
const shape = { ...placeShape, callerSession: CallerSession };
const Options = {
  dryRun: z.boolean().default(false).describe("Only looks whether it could be sent"),
  silent: z.boolean().default(false),
};

/** The tools that talk where people are, with the parameters and results of RemoteClaw's [F13-F22]. */
export function createMessageTools(asCaller: AsCaller): readonly Tool[] {
  return [
    ...sendTools(asCaller),
    ...richTools(asCaller),
    broadcastTool(asCaller),
    ...actionTools(asCaller),
  ];
}

function sendTools(asCaller: AsCaller): readonly Tool[] {
  const message_send = defineTool({
    name: "message_send",
    description: "Sends a message to a person, group or channel, with a picture or file if wanted.",
    input: z.strictObject({
      target: Target,
      message: Text.default(""),
      media: Media.optional(),
      ...Options,
      ...shape,
    }),
    run: ({ target, message, media, ...rest }, context) =>
      send(asCaller, context, {
        action: "send",
        tool: "message_send",
        target,
        text: message,
        media,
        rest,
      }),
  });
  const message_reply = defineTool({
    name: "message_reply",
    description: "Answers in the chat that you work in, as a reply to a message if it is named.",
    input: z.strictObject({
      message: Text,
      replyToId: MessageId.optional(),
      target: Target.optional(),
      ...Options,
      ...shape,
    }),
    run: ({ message, replyToId, target, ...rest }, context) =>
      send(asCaller, context, {
        action: "reply",
        tool: "message_reply",
        target,
        text: message,
        replyToId,
        rest,
      }),
  });
  const message_thread_reply = defineTool({
    name: "message_thread_reply",
    description: "Answers in a thread of the chat that you work in.",
    input: z.strictObject({
      message: Text,
      threadId: MessageId,
      target: Target.optional(),
      ...Options,
      ...shape,
    }),
    run: ({ message, threadId, target, ...rest }, context) =>
      send(asCaller, context, {
        action: "thread-reply",
        tool: "message_thread_reply",
        target,
        text: message,
        threadId,
        rest,
      }),
  });
  return [message_send, message_reply, message_thread_reply] as readonly Tool[]; // each is a Tool of its own arguments
}

function richTools(asCaller: AsCaller): readonly Tool[] {
  const message_send_attachment = defineTool({
    name: "message_send_attachment",
    description: "Sends a file, with a caption if wanted.",
    input: z.strictObject({
      target: Target,
      file: Media,
      caption: Text.default(""),
      ...Options,
      ...shape,
    }),
    run: ({ target, file, caption, ...rest }, context) =>
      send(asCaller, context, {
        action: "sendAttachment",
        tool: "message_send_attachment",
        target,
        text: caption,
        media: file,
        rest,
      }),
  });
  const message_send_with_effect = defineTool({
    name: "message_send_with_effect",
    description: "Sends a message with an effect that the channel has.",
    input: z.strictObject({
      target: Target,
      message: Text,
      effectId: z.string().min(1).max(64),
      ...Options,
      ...shape,
    }),
    run: ({ target, message, effectId, ...rest }, context) =>
      send(asCaller, context, {
        action: "sendWithEffect",
        tool: "message_send_with_effect",
        target,
        text: message,
        effectId,
        rest,
      }),
  });
  return [message_send_attachment, message_send_with_effect] as readonly Tool[]; // as above
}

interface Sending {
  readonly action: string;
  readonly tool: string;
  readonly target: string | undefined;
  readonly text: string;
  readonly media?: string | undefined;
  readonly replyToId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly effectId?: string | undefined;
  readonly rest: Place & {
    readonly callerSession?: string | undefined;
    readonly dryRun: boolean;
    readonly silent: boolean;
  };
}

async function send(asCaller: AsCaller, context: ToolContext, sending: Sending) {
  const { action, tool, media, replyToId, threadId, effectId, rest } = sending;
  const { dryRun, silent, callerSession } = rest;
  const text = messageText(sending.text);
  if (text === "" && media === undefined) throw new ToolError("send requires text or media");
  const { target } = sending;
  const found = await addressOf(asCaller, context, { place: rest, target, action });
  const to: AddressInput = threadId === undefined ? found : { ...found, threadId };
  const reply = await asCaller(context, sendChannelMessage, {
    to,
    text,
    attachments: media === undefined ? [] : [{ source: media }],
    dryRun,
    silent,
    tool,
    ...(replyToId !== undefined && { replyToMessageId: replyToId }),
    ...(effectId !== undefined && { effectId }),
    ...aboutCaller(context, callerSession),
  }).catch(channelError(action));
  const { address, sendId, messageIds, sentAt, degraded } = reply;
  const { channel, accountId, threadId: inThread } = address;
  const payload = { sendId, messageIds, accountId, sentAt, degraded };
  return jsonResult({
    kind: "send",
    channel,
    action,
    to: targetText(address),
    handledBy: "plugin",
    payload: { ...payload, ...(inThread !== undefined && { threadId: inThread }) },
    dryRun,
  });
}

/** A call that is made again under its id is sent once. */
function aboutCaller({ callId, runId, session }: ToolContext, callerSession: string | undefined) {
  const sessionKey = session === null ? callerSession : undefined;
  return {
    ...(callId !== undefined && { idempotencyKey: callId }),
    ...(runId !== null && { runId }),
    ...(sessionKey !== undefined && { sessionKey }),
  };
}

function broadcastTool(asCaller: AsCaller): Tool {
  return defineTool({
    name: "message_broadcast",
    description:
      "Sends one message to several targets; the answer says for each whether it worked.",
    input: z.strictObject({ targets: z.array(Target).max(100), message: Text, ...shape }),
    async run({ targets, message, callerSession, ...place }, context) {
      const text = messageText(message);
      if (targets.length === 0)
        throw new ToolError("Broadcast requires at least one target in --targets.");
      if (text === "") throw new ToolError("send requires text or media");
      const found = await Promise.all(
        targets.map((target) =>
          addressOf(asCaller, context, { place, target, action: "broadcast" }).catch(
            (error: unknown) => {
              if (error instanceof ToolError) return error;
              throw error;
            },
          ),
        ),
      );
      const to = found.flatMap((one) => (one instanceof ToolError ? [] : [one]));
      const { results } =
        to.length === 0
          ? { results: [] }
          : await asCaller(context, broadcastChannelMessage, {
              to,
              text,
              tool: "message_broadcast",
              ...aboutCaller(context, callerSession),
            }).catch(channelError("broadcast"));
      const made = results.values();
      const rows = found.map((one, index) => {
        if (one instanceof ToolError)
          return {
            channel: place.channel ?? null,
            to: targets[index],
            ok: false,
            error: one.message,
          };
        return rowOf(made.next().value);
      });
      return jsonResult({ kind: "broadcast", payload: { results: rows } });
    },
  }) as Tool; // of its own arguments
}

type Delivered = z.output<typeof broadcastChannelMessage.reply>["results"][number];

function rowOf(delivered: Delivered | undefined) {
  if (delivered === undefined)
    return { ok: false, error: "TIMEOUT_UNKNOWN: nothing is known of it" };
  const { address, ok, error, messageIds, sendId } = delivered;
  const { channel, accountId = null } = address;
  const where = { channel, accountId, to: targetText(address), ok };
  if (error !== undefined)
    return { ...where, error: `${error.code.toUpperCase()}: ${error.message}` };
  return { ...where, result: { sendId, messageIds } };
}

function actionTools(asCaller: AsCaller): readonly Tool[] {
  const message_react = defineTool({
    name: "message_react",
    description: "Adds a reaction to a message of the chat that you work in, or takes it away.",
    input: z.strictObject({
      emoji: z.string().max(64),
      messageId: MessageId,
      remove: z.boolean().default(false),
      target: Target.optional(),
      ...shape,
    }),
    async run({ emoji, messageId, remove, target, ...place }, context) {
      if (emoji === "") throw new ToolError("react needs an emoji, also to remove it.");
      const address = await addressOf(asCaller, context, { place, target, action: "react" });
      const message = { address, messageId };
      const payload = await asCaller(context, reactToMessage, { message, emoji, remove }).catch(
        channelError("react"),
      );
      return acted(payload);
    },
  });
  const message_delete = defineTool({
    name: "message_delete",
    description: "Deletes a message of the chat that you work in.",
    input: z.strictObject({ messageId: MessageId, target: Target.optional(), ...shape }),
    async run({ messageId, target, ...place }, context) {
      const address = await addressOf(asCaller, context, { place, target, action: "delete" });
      const message = { address, messageId };
      const payload = await asCaller(context, deleteChannelMessage, { message }).catch(
        channelError("delete"),
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
    async run({ messageId, unpin, target, ...place }, context) {
      const address = await addressOf(asCaller, context, { place, target, action: "pin" });
      const message = { address, messageId };
      const payload = await asCaller(context, pinMessage, { message, unpin }).catch(
        channelError("pin"),
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
    async run({ channelId: target, limit, ...place }, context) {
      const address = await addressOf(asCaller, context, { place, target, action: "read" });
      const payload = await asCaller(context, readChannelMessages, { address, limit }).catch(
        channelError("read"),
      );
      return acted(payload);
    },
  });
  return [message_react, message_delete, message_pin, message_read] as readonly Tool[]; // as above
}

function acted(payload: Record<string, unknown>) {
  return jsonResult({ kind: "action", handledBy: "plugin", payload });
}

function targetText({ target }: Pick<AddressInput, "target">): string {
  return `${target.kind}:${target.id}`;
}
