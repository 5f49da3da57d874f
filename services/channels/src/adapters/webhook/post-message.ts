import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { postWebhook, type WebhookOutcome } from "@switchyard/service/network/post-webhook";
import { webhookKey } from "@switchyard/service/standard-webhook";
import { ChannelError } from "../adapter.ts";

/**
 * Makes one signed request and returns the JSON of the response, null where that is none. Throws a ChannelError that states
 * whether the receiver may have accepted it: an error status is a refusal, and a lost response is unknown.
 */
export async function postMessage(
  { url, secret }: { readonly url: string; readonly secret: string },
  {
    guard,
    id,
    value,
    nowMs,
    signal,
  }: {
    readonly guard: EgressGuard;
    readonly id: string;
    readonly value: object;
    readonly nowMs: number;
    readonly signal: AbortSignal;
  },
): Promise<unknown> {
  const sent = await postWebhook({
    guard,
    url,
    body: JSON.stringify(value),
    headers: { "user-agent": "switchyard-channels" },
    signing: { key: webhookKey(secret) ?? new Uint8Array(), id, nowMs },
    signal,
  });
  const { host } = new URL(url);
  if (sent.kind !== "answered") throw failureOf(host, sent);
  const { status, retryAfterMs, text } = sent;
  if (status < 200 || status >= 300) throw refusalOf(host, status, retryAfterMs ?? 0);
  try {
    return JSON.parse(text ?? "null") as unknown;
  } catch {
    return null; // The status has confirmed the delivery.
  }
}

const LONGEST_WAIT_MS = 86_400_000;

function refusalOf(host: string, status: number, waitMs: number): ChannelError {
  const said = `${host} answered ${status}`;
  if (status === 429) {
    const retryAfterMs = waitMs > 0 && waitMs < LONGEST_WAIT_MS ? waitMs : 1_000;
    return new ChannelError("rate_limited", `${said}: too many messages`, { retryAfterMs });
  }
  if (status === 401 || status === 403)
    return new ChannelError("not_allowed", `${said}: compare outbound.secret with the receiver's`);
  if (status === 404 || status === 410)
    return new ChannelError("invalid_target", `${said}: it has no such target, or is gone`);
  if (status >= 300 && status < 400)
    return new ChannelError("provider_error", `${said}, and redirects are not followed`, {
      isFinal: true,
    });
  // It broke, or something in front of it, in the middle of the work.
  if (status >= 500 && status !== 503)
    return new ChannelError("timeout_unknown", `${said}: it may have taken the message`);
  const isFinal = status < 500 && status !== 408 && status !== 409 && status !== 425;
  return new ChannelError("provider_error", said, { isFinal });
}

function failureOf(
  host: string,
  { kind, wasConnected, error }: Exclude<WebhookOutcome, { kind: "answered" }>,
): ChannelError {
  if (kind === "refused") return new ChannelError("not_allowed", error.message);
  if (!wasConnected)
    return new ChannelError("provider_error", `${host} cannot be reached`, { cause: error });
  return new ChannelError("timeout_unknown", `${host} gave no answer`, { cause: error });
}
