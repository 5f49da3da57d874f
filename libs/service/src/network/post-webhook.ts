import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { signedWebhookHeaders } from "../standard-webhook.ts";
import { EgressError, type EgressGuard } from "./egress-guard.ts";

export interface WebhookPost {
  readonly guard: EgressGuard;
  readonly url: string;
  readonly body: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** Signs the body as in https://www.standardwebhooks.com; null: it is sent without a signature. */
  readonly signing: {
    readonly key: Uint8Array;
    readonly id: string;
    readonly nowMs: number;
  } | null;
  readonly signal: AbortSignal;
}

export type WebhookOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The time in milliseconds for which the receiver wants the sender to wait; null when it states none. */
      readonly retryAfterMs: number | null;
      /** The body of a success; null when it is too long or was cut off. */
      readonly text: string | null;
    }
  | {
      /** `refused`: the guard refuses the address. `timeout`: the signal aborted. */
      readonly kind: "refused" | "timeout" | "failed";
      /** False: nothing was sent. True: the receiver may have accepted the request. */
      readonly wasConnected: boolean;
      readonly error: Error & { readonly code?: string };
    };

const MAX_ANSWER = 64 * 1_024;

/** Posts JSON, or what `headers` give as its type, once, on a connection of its own. Never rejects. Redirects are not followed, since their target was not checked. */
export async function postWebhook(post: WebhookPost): Promise<WebhookOutcome> {
  let wasConnected = false;
  try {
    const response = await send(post, () => {
      wasConnected = true;
    });
    const { statusCode: status = 0, headers } = response;
    const isSuccess = status >= 200 && status < 300;
    const text = isSuccess ? await textOf(response) : null;
    response.destroy();
    return { kind: "answered", status, retryAfterMs: waitOf(headers["retry-after"]), text };
  } catch (thrown) {
    const error: Error & { code?: string } = thrown instanceof Error ? thrown : new Error("failed");
    const isRefused = error instanceof EgressError || error.code === "ERR_INVALID_URL";
    const kind = isRefused ? "refused" : post.signal.aborted ? "timeout" : "failed";
    return { kind, wasConnected, error };
  }
}

async function send(
  { guard, url: address, body, signal, signing, headers: own }: WebhookPost,
  onConnected: () => void,
): Promise<IncomingMessage> {
  const url = new URL(address);
  guard.checkUrl(url);
  const headers = {
    "content-type": "application/json",
    ...own,
    ...(signing !== null && signedWebhookHeaders(signing.key, { ...signing, body })),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const options = { method: "POST", agent: false, lookup: guard.lookup, headers, signal } as const;
  request(url, options, resolve)
    .on("socket", (socket) => socket.once("connect", onConnected))
    .on("error", reject)
    .end(body);
  return promise;
}

/** The status has confirmed the request, whatever becomes of the body. */
async function textOf(response: AsyncIterable<Buffer>): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > MAX_ANSWER) return null;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  } catch {
    return null;
  }
}

/** Reads `Retry-After`: seconds or a date, https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3. */
function waitOf(header: string | undefined): number | null {
  const text = header?.trim() ?? "";
  const seconds = text === "" ? Number.NaN : Number(text);
  const waitMs = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1_000;
  return Number.isFinite(waitMs) ? Math.max(0, Math.ceil(waitMs)) : null;
}
