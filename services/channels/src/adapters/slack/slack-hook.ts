import { createHmac, timingSafeEqual } from "node:crypto";
import type { HookAnswer, HookRequest } from "../adapter.ts";

const OLDEST_SECONDS = 300;

/**
 * Checks that a request of the Events API is Slack's (https://docs.slack.dev/authentication/verifying-requests-from-slack) and no
 * replay of an old one. Returns its payload, or the reply that ends it.
 */
export function readSlackHook(
  request: HookRequest,
  signingSecret: string,
  nowMs: number,
): { readonly payload: unknown } | { readonly answer: HookAnswer } {
  const timestamp = request.headers["x-slack-request-timestamp"] ?? "";
  const given = Buffer.from(request.headers["x-slack-signature"] ?? "");
  const signed = createHmac("sha256", signingSecret)
    .update(`v0:${timestamp}:`)
    .update(request.body)
    .digest("hex");
  const expected = Buffer.from(`v0=${signed}`);
  const isFresh = Math.abs(nowMs / 1000 - Number(timestamp)) <= OLDEST_SECONDS;
  if (!isFresh || given.length !== expected.length || !timingSafeEqual(given, expected))
    return { answer: { status: 401, body: "The signature is not Slack's, or too old.\n" } };
  let payload: unknown;
  try {
    payload = JSON.parse(jsonOf(request));
  } catch {
    return { answer: { status: 400, body: "The body is not valid JSON.\n" } };
  }
  if (typeof payload !== "object" || payload === null)
    return { answer: { status: 400, body: "The body is not a JSON object.\n" } };
  const { type, challenge } = payload as { type?: unknown; challenge?: unknown };
  if (type === "url_verification" && typeof challenge === "string")
    return { answer: { status: 200, contentType: "text/plain", body: challenge } };
  return { payload };
}

/** Interactions are a form with the field `payload`: https://docs.slack.dev/interactivity/handling-user-interaction#payloads */
function jsonOf({ headers, body }: HookRequest): string {
  const text = new TextDecoder().decode(body);
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  return isForm ? (new URLSearchParams(text).get("payload") ?? "") : text;
}
