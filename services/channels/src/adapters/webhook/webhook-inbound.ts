import { ProviderId, Target } from "@switchyard/contracts/channels/channel-address";
import { checkWebhook, webhookKey } from "@switchyard/service/standard-webhook";
import { z } from "zod";
import type { HookAnswer, HookRequest, IncomingMessage } from "../adapter.ts";

const MAX_TEXT = 100_000;

/** The body that a program sends. */
const Body = z.strictObject({
  sender: z.strictObject({
    id: ProviderId,
    name: z.string().max(256).optional(),
    username: z.string().max(256).optional(),
  }),
  text: z.string().max(MAX_TEXT).default(""),
  /** A file with a `url` is loaded from there; any other is only named to the agent. */
  attachments: z
    .array(
      z.strictObject({
        name: z.string().max(255).optional(),
        mimeType: z.string().max(128).optional(),
        sizeBytes: z.int().nonnegative().optional(),
        url: z
          .url({ protocol: /^https?$/ })
          .max(2_048)
          .optional(),
      }),
    )
    .max(10)
    .default([]),
  /** The conversation; left out, the sender's own. */
  target: Target.optional(),
  threadId: ProviderId.optional(),
  /** Left out: `webhook-id`. */
  messageId: ProviderId.optional(),
  replyToMessageId: ProviderId.optional(),
  mentionsAccount: z.boolean().default(true),
  writtenAt: z.iso.datetime({ offset: true }).optional(),
});

/** The message of a request that one of the secrets has signed, or the answer that ends it. */
export function readWebhook(
  { headers, body }: HookRequest,
  { secrets, nowMs }: { readonly secrets: readonly string[]; readonly nowMs: number },
): { readonly message: IncomingMessage } | { readonly answer: HookAnswer } {
  const keys = secrets.flatMap((secret) => webhookKey(secret) ?? []);
  const checked = checkWebhook(keys, { header: (name) => headers[name], body, nowMs });
  if ("refusal" in checked) return refusal(401, REFUSALS[checked.refusal]);
  const said = Body.safeParse(parsed(body));
  if (!said.success) {
    const { path, message } = said.error.issues[0] ?? { path: [], message: "" };
    return refusal(
      422,
      `The body is not a message: ${path.map(String).join(".") || "it"}: ${message}`,
    );
  }
  const { sender, target, writtenAt, messageId = checked.id, ...rest } = said.data;
  const { name, username } = sender;
  const { threadId, replyToMessageId, text, attachments, mentionsAccount } = rest;
  return {
    message: {
      target: target ?? { kind: "user", id: sender.id },
      messageId,
      sender: {
        id: sender.id,
        ...(name !== undefined && { name }),
        ...(username !== undefined && { username }),
      },
      text,
      attachments: attachments.map(({ name: title, mimeType, sizeBytes, url: source }) => ({
        name: title,
        mimeType,
        sizeBytes,
        source,
      })),
      mentionsAccount,
      ...(threadId !== undefined && { threadId }),
      ...(replyToMessageId !== undefined && { replyToMessageId }),
      writtenAt: new Date(writtenAt ?? nowMs),
    },
  };
}

const REFUSALS = {
  missing: "The headers webhook-id, webhook-timestamp and webhook-signature must be there.",
  wrong: "None of the account's secrets has signed this body.",
  expired: "webhook-timestamp is too far away from the clock here.",
} as const;

export function jsonAnswer(status: number, value: object): HookAnswer {
  return { status, contentType: "application/json", body: JSON.stringify(value) };
}

function refusal(status: number, error: string): { readonly answer: HookAnswer } {
  return { answer: jsonAnswer(status, { error }) };
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
