import type { broadcastChannelMessage } from "@switchyard/contracts/channels/channels";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { sendChannelMessage } from "@switchyard/contracts/channels/channels";
import type { z } from "zod";
import { sendMessage, type SendParts } from "./send-message.ts";

type Request = z.output<typeof broadcastChannelMessage.request>;
type Reply = z.input<typeof broadcastChannelMessage.reply>;
type Result = Reply["results"][number];

const AT_ONCE = 4;

/** Sends one message to each address, a few at a time; those not begun when the caller's time is over are not sent [N7]. */
export async function broadcast(
  parts: SendParts,
  request: Request,
  asked: { readonly caller: string; readonly deadline: number; readonly signal: AbortSignal },
): Promise<Reply> {
  const { to, idempotencyKey, ...content } = request;
  const { caller, deadline, signal } = asked;
  const fail = failuresOf(sendChannelMessage.errors);
  const results: Result[] = [];
  const waiting = [...to.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, address] = next;
      const isLate = signal.aborted || parts.now() > deadline - MARGIN_MS;
      const key =
        idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}#${index}` };
      results[index] = isLate
        ? { ...FAILED, address, error: { code: "aborted", message: "Message send aborted" } }
        : await sendMessage(
            parts,
            { ...content, ...key, to: address },
            { caller, fail, deadline },
          ).then(
            ({ sendId, messageIds, sentAt }) => ({
              address,
              ok: true,
              sendId,
              messageIds,
              sentAt,
            }),
            (error: unknown) => ({ ...FAILED, address, ...shownError(error) }),
          );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const sent = results.filter(({ ok }) => ok).length;
  return { kind: "broadcast", results, sent, failed: results.length - sent };
}

const MARGIN_MS = 2_000;
const FAILED = { ok: false, messageIds: [] as string[], sentAt: null };

function shownError(error: unknown): Pick<Result, "error"> {
  if (!(error instanceof ServiceError)) throw error;
  const { code, message, data } = error;
  const wait: unknown =
    typeof data === "object" && data !== null && "retryAfterMs" in data ? data.retryAfterMs : null;
  return {
    error: { code, message, ...(typeof wait === "number" ? { retryAfterMs: wait } : {}) },
  };
}
