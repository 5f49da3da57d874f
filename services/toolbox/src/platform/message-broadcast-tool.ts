import { broadcastChannelMessage } from "@switchyard/contracts/channels/channels";
import { z } from "zod";
import { defineTool, type Tool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { jsonResult } from "./json-result.ts";
import { channelError, channelsOf, Target } from "./message-delivery.ts";
import {
  aboutCaller,
  reachOf,
  shape,
  targetText,
  Text,
  type MessageParts,
} from "./message-shape.ts";
import { messageText } from "./message-text.ts";

/** `message_broadcast` [F16]. */
export function createBroadcastTool(parts: MessageParts): Tool {
  const { asCaller, settings } = parts;
  return defineTool({
    name: "message_broadcast",
    description:
      "Sends one message to several targets; the answer says for each whether it worked.",
    input: z.strictObject({ targets: z.array(Target).max(100), message: Text, ...shape }),
    async run({ targets, message, callerSession, ...delivery }, context) {
      if (!(await settings()).message.broadcast.enabled)
        throw new ToolError("Broadcast is disabled. Set tools.message.broadcast.enabled to true.");
      const text = messageText(message);
      if (targets.length === 0)
        throw new ToolError("Broadcast requires at least one target in --targets.");
      if (text === "") throw new ToolError("send requires text or media");
      if (delivery.channel === undefined && (await channelsOf(asCaller, context)).length === 0)
        throw new ToolError("Broadcast requires at least one configured channel.");
      const action = "broadcast";
      const addressed = (target: string) =>
        reachOf(parts, context, { named: delivery, target, action });
      const found = await Promise.all(
        targets.map((target) =>
          addressed(target).catch((error: unknown) => {
            if (error instanceof ToolError) return error;
            throw error;
          }),
        ),
      );
      const reached = found.flatMap((one) => (one instanceof ToolError ? [] : [one]));
      const to = reached.map((one) => one.to);
      // One text for all of them: where it reaches another chat, all see where it is from.
      const mark = reached.find((one) => one.mark !== "")?.mark ?? "";
      const { results } =
        to.length === 0
          ? { results: [] }
          : await asCaller(context, broadcastChannelMessage, {
              to,
              text: `${mark}${text}`,
              tool: "message_broadcast",
              ...aboutCaller(context, callerSession),
            }).catch(channelError("broadcast"));
      const made = results.values();
      const rows = found.map((one, index) => {
        if (one instanceof ToolError)
          return {
            channel: delivery.channel ?? null,
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
    return { ok: false, error: "TIMEOUT_UNKNOWN: its outcome is unknown" };
  const { address, ok, error, messageIds, sendId } = delivered;
  const { channel, accountId = null } = address;
  const where = { channel, accountId, to: targetText(address), ok };
  if (error !== undefined)
    return { ...where, error: `${error.code.toUpperCase()}: ${error.message}` };
  return { ...where, result: { sendId, messageIds } };
}
