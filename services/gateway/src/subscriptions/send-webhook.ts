import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { EgressError, type EgressGuard } from "@switchyard/service/network/egress-guard";
import { signedWebhookHeaders } from "@switchyard/service/standard-webhook";
import type { KeptWebhook } from "../routes/webhook-operations.ts";
import type { WebhookDelivery } from "./subscription-store.ts";

export type SendOutcome =
  | { readonly outcome: "delivered" }
  /** `gone`: the receiver answered that the URL no longer exists. */
  | {
      readonly outcome: "gone" | "failed";
      /** The message for the owner of the webhook. */
      readonly error: string;
      /** The cause for the operator's log. */
      readonly cause?: unknown;
    };

const TIMEOUT_MS = 10_000;

/**
 * Makes one attempt, signed as in https://www.standardwebhooks.com. Never rejects. Redirects are not followed, since their
 * target was not checked.
 */
export async function sendWebhook(
  guard: EgressGuard,
  { secret, webhook }: { readonly secret: string; readonly webhook: KeptWebhook },
  { id, body }: Pick<WebhookDelivery, "id" | "body">,
): Promise<SendOutcome> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  try {
    const url = new URL(webhook.url);
    guard.checkUrl(url);
    const status = await post(url, body, {
      lookup: guard.lookup,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "switchyard-webhooks",
        ...signedWebhookHeaders(key, { id, body, nowMs: Date.now() }),
      },
    });
    if (status >= 200 && status < 300) return { outcome: "delivered" };
    const redirect = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
    const error = `${url.host} answered ${status}${redirect}`;
    return { outcome: status === 410 ? "gone" : "failed", error };
  } catch (error) {
    return { outcome: "failed", error: shownError(error, webhook.url), cause: error };
  }
}

/** Returns the error that the owner of the webhook may see: it reveals neither internal addresses of a name nor that the name has one. */
function shownError(error: unknown, url: string): string {
  const host = URL.parse(url)?.host ?? "the receiver";
  if (error instanceof EgressError) return `${host} cannot be reached from here`;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const plain = Object.hasOwn(PLAIN, code) ? PLAIN[code] : undefined;
  if (plain !== undefined) return `${host} ${plain}`;
  return error instanceof NoAnswer ? error.message : `${host} cannot be reached from here`;
}

const PLAIN: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused the connection",
  ECONNRESET: "closed the connection",
  EPIPE: "closed the connection",
  CERT_HAS_EXPIRED: "has a certificate that has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "has a certificate of an unknown issuer",
  SELF_SIGNED_CERT_IN_CHAIN: "has a certificate of an unknown issuer",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "has a certificate of an unknown issuer",
  ERR_TLS_CERT_ALTNAME_INVALID: "has a certificate of another name",
};

class NoAnswer extends Error {}

/** Resolves with the status of the answer; its body is not read. */
function post(url: URL, body: string, options: RequestOptions): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const sent = request(url, { ...options, method: "POST", agent: false }, (response) => {
    resolve(response.statusCode ?? 0);
    response.destroy();
  });
  const timer = setTimeout(
    () => sent.destroy(new NoAnswer(`no answer within ${TIMEOUT_MS} ms`)),
    TIMEOUT_MS,
  );
  sent.on("close", () => clearTimeout(timer));
  sent.on("error", reject);
  sent.end(body);
  return promise;
}
