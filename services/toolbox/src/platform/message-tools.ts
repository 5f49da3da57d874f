import type { AddressInput } from "@switchyard/contracts/channels/channel-address";
import { type Attachment, sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { jsonResult } from "./json-result.ts";
import { createActionTools } from "./message-action-tools.ts";
import { createBroadcastTool } from "./message-broadcast-tool.ts";
import { channelError, Target, type DeliveryContext } from "./message-delivery.ts";
import {
  aboutCaller,
  MessageId,
  reachOf,
  shape,
  targetText,
  Text,
  type MessageParts,
} from "./message-shape.ts";
import { messageText } from "./message-text.ts";

const Media = z.string().min(1).max(4_096).describe("https://… or a path that may be sent");
/** Parameters with the bytes of a file, as OpenClaw's tools accept them. */
const BYTES = ["buffer", "filename", "contentType"] as const;
const Refused = z.unknown().optional().meta({ refused: true });
const Options = {
  ...Object.fromEntries(BYTES.map((key) => [key, Refused])),
  dryRun: z.boolean().default(false).describe("Only looks whether it could be sent"),
  silent: z.boolean().default(false),
  bestEffort: z
    .boolean()
    .default(false)
    .describe("A message that could not be sent is reported in the result, and is no error"),
};

/** The tools that talk where people are, with the parameters and results of RemoteClaw's [F13-F22]. */
export function createMessageTools(parts: MessageParts): readonly Tool[] {
  return [
    ...sendTools(parts),
    ...richTools(parts),
    createBroadcastTool(parts),
    ...createActionTools(parts),
  ];
}

function sendTools(parts: MessageParts): readonly Tool[] {
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
      send(parts, context, {
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
      send(parts, context, {
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
      send(parts, context, {
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

function richTools(parts: MessageParts): readonly Tool[] {
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
      send(parts, context, {
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
      send(parts, context, {
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
  readonly rest: DeliveryContext & {
    readonly callerSession?: string | undefined;
    readonly dryRun: boolean;
    readonly silent: boolean;
    readonly bestEffort: boolean;
  };
}

async function send(parts: MessageParts, context: ToolContext, sending: Sending) {
  if (!sending.rest.bestEffort) return sendNow(parts, context, sending);
  try {
    return await sendNow(parts, context, sending);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const { action } = sending;
    return jsonResult({ kind: "send", action, ok: false, error: error.message, dryRun: false });
  }
}

async function sendNow(parts: MessageParts, context: ToolContext, sending: Sending) {
  const { asCaller } = parts;
  const { action, tool, media, replyToId, threadId, effectId, rest } = sending;
  const { dryRun, silent, callerSession } = rest;
  const refused = BYTES.find((key) => Object.hasOwn(rest, key));
  if (refused !== undefined)
    throw new ToolError(
      `${refused} is unavailable because channels take files by reference; name a path that may be sent, or an https address.`,
    );
  const said = messageText(sending.text);
  if (said === "" && media === undefined) throw new ToolError("send requires text or media");
  const { target } = sending;
  const { to: found, mark } = await reachOf(parts, context, { named: rest, target, action });
  const to: AddressInput = threadId === undefined ? found : { ...found, threadId };
  const text = `${mark}${said}`;
  const message = {
    to,
    text,
    silent,
    tool,
    ...(replyToId !== undefined && { replyToMessageId: replyToId }),
    ...(effectId !== undefined && { effectId }),
    ...aboutCaller(context, callerSession),
  };
  const sendWith = (attachments: AttachmentRef[], isDry: boolean) =>
    asCaller(context, sendChannelMessage, { ...message, attachments, dryRun: isDry }).catch(
      channelError(action),
    );
  const attachments = media === undefined ? [] : await allowedAttachments(media);
  const reply = await sendWith(attachments, dryRun);
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

  /** Has the file loaded for its type and size, which the policy decides about; then only the same bytes are sent. */
  async function allowedAttachments(source: string): Promise<AttachmentRef[]> {
    const [file] = (await sendWith([{ source }], true)).loadedFiles ?? [];
    if (file === undefined)
      throw new ToolError(
        "The channels service is of an earlier version and reports no type of the file; try again when it is replaced.",
      );
    const denial = await context.attachmentDenial(file);
    if (denial !== null) throw new ToolError(denial);
    return [{ source, sha256: file.sha256 }];
  }
}

type AttachmentRef = z.input<typeof Attachment>;
