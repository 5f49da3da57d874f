import { EgressError, type EgressGuard } from "@switchyard/service/network/egress-guard";
import { signedWebhookHeaders, webhookKey } from "@switchyard/service/standard-webhook";
import { Agent, fetch } from "undici";
import { ChannelError } from "../adapter.ts";
import { wasNeverConnected } from "../error-causes.ts";

const MAX_ANSWER = 64 * 1_024;

/**
 * Makes one signed request and returns the JSON of the response, null where that is none. Throws a ChannelError that states
 * whether the receiver may have accepted it: an error status is a refusal, and a lost response is unknown. Redirects are not
 * followed, because their targets have not been checked.
 */
export async function postWebhook(
  { url: address, secret }: { readonly url: string; readonly secret: string },
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
  const url = new URL(address);
  const body = JSON.stringify(value);
  const agent = new Agent({ connect: { lookup: guard.lookup } });
  try {
    guard.checkUrl(url);
    const response = await fetch(url, {
      method: "POST",
      dispatcher: agent,
      redirect: "manual",
      signal,
      headers: {
        "content-type": "application/json",
        "user-agent": "switchyard-channels",
        ...signedWebhookHeaders(webhookKey(secret) ?? new Uint8Array(), { id, body, nowMs }),
      },
      body,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw refusalOf(url.host, response.status, response.headers.get("retry-after"));
    }
    return await answerOf(response.body);
  } catch (error) {
    throw failureOf(url.host, error);
  } finally {
    void agent.destroy();
  }
}

/** A body that is too long or no JSON is ignored, since the status has confirmed the delivery. */
async function answerOf(body: AsyncIterable<Uint8Array> | null): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > MAX_ANSWER) return null;
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
  } catch {
    return null;
  }
}

function refusalOf(host: string, status: number, retryAfter: string | null): ChannelError {
  const said = `${host} answered ${status}`;
  if (status === 429) {
    const seconds = Number(retryAfter);
    const retryAfterMs = seconds > 0 && seconds < 86_400 ? Math.ceil(seconds * 1_000) : 1_000;
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

function failureOf(host: string, error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (error instanceof EgressError || cause instanceof EgressError)
    return new ChannelError("not_allowed", (cause as EgressError).message); // one of the two
  if (wasNeverConnected(error))
    return new ChannelError("provider_error", `${host} cannot be reached`, { cause: error });
  return new ChannelError("timeout_unknown", `${host} gave no answer`, { cause: error });
}
