import { createHmac, timingSafeEqual, type Hmac } from "node:crypto";

/**
 * The limit that https://www.standardwebhooks.com advises: how far the sender's clock may differ, and how long a request may be sent again
 * by a client that overheard it.
 */
export const WEBHOOK_TOLERANCE_SECONDS = 300;
const ID = /^[\x21-\x7e]{1,256}$/;

/** The key of a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. Null for anything else. */
export function webhookKey(secret: string): Uint8Array | null {
  const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(encoded, "base64");
  return key.length >= 24 && key.length <= 64 ? key : null;
}

/** The headers with which a body is sent: its id, the time of this attempt, and the signature of both and the body. */
export function signedWebhookHeaders(
  key: Uint8Array,
  {
    id,
    body,
    nowMs,
  }: { readonly id: string; readonly body: string | Uint8Array; readonly nowMs: number },
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signature = createHmac("sha256", key)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}

/** Checks that one of the keys has signed the body, not long ago; `missing`: headers are absent or malformed. */
export function checkWebhook(
  keys: readonly Uint8Array[],
  {
    header,
    body,
    nowMs,
  }: {
    readonly header: (name: string) => string | null | undefined;
    readonly body: Uint8Array;
    readonly nowMs: number;
  },
): { readonly id: string } | { readonly refusal: "missing" | "wrong" | "expired" } {
  const id = header("webhook-id") ?? "";
  const timestamp = header("webhook-timestamp") ?? "";
  const signatures = header("webhook-signature") ?? "";
  if (!ID.test(id) || !/^\d{1,12}$/.test(timestamp) || signatures === "")
    return { refusal: "missing" };
  const given = signatures
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice(3), "base64"));
  const isSigned = isOneOf(given, keys, (hmac) => hmac.update(`${id}.${timestamp}.`).update(body));
  if (!isSigned) return { refusal: "wrong" };
  const isFresh = Math.abs(nowMs / 1_000 - Number(timestamp)) <= WEBHOOK_TOLERANCE_SECONDS;
  return isFresh ? { id } : { refusal: "expired" };
}

/**
 * True when one of the keys made one of the signatures (HMAC-SHA256). Compares all with all, each in constant time: the duration reveals
 * neither how much of a signature was right nor which key it was.
 */
export function isOneOf(
  given: readonly Uint8Array[],
  keys: readonly Uint8Array[],
  sign: (hmac: Hmac) => Hmac,
): boolean {
  let isFound = false;
  for (const key of keys) {
    const expected = sign(createHmac("sha256", key)).digest();
    for (const one of given)
      if (one.length === expected.length && timingSafeEqual(one, expected)) isFound = true;
  }
  return isFound;
}
