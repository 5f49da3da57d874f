import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { postWebhook, type WebhookOutcome } from "@switchyard/service/network/post-webhook";
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

/** Makes one signed attempt. Never rejects. */
export async function sendWebhook(
  guard: EgressGuard,
  { secret, webhook: { url } }: { readonly secret: string; readonly webhook: KeptWebhook },
  { id, body }: Pick<WebhookDelivery, "id" | "body">,
): Promise<SendOutcome> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const sent = await postWebhook({
    guard,
    url,
    body,
    headers: { "user-agent": "switchyard-webhooks" },
    signing: { key, id, nowMs: Date.now() },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (sent.kind !== "answered")
    return { outcome: "failed", error: shownError(sent, url), cause: sent.error };
  const { status } = sent;
  if (status >= 200 && status < 300) return { outcome: "delivered" };
  const redirect = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  const error = `${new URL(url).host} answered ${status}${redirect}`;
  return { outcome: status === 410 ? "gone" : "failed", error };
}

/** Returns the error that the owner of the webhook may see: it reveals neither internal addresses of a name nor that the name has one. */
function shownError(
  { kind, error: { code = "" } }: Exclude<WebhookOutcome, { kind: "answered" }>,
  url: string,
): string {
  if (kind === "timeout") return `no answer within ${TIMEOUT_MS} ms`;
  const plain = Object.hasOwn(PLAIN, code) ? PLAIN[code] : undefined;
  return `${URL.parse(url)?.host ?? "the receiver"} ${plain ?? "cannot be reached from here"}`;
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
