import { createHmac, timingSafeEqual } from "node:crypto";
import type { Hook } from "./hooks-file.ts";

/** What the headers of a delivery say, once its signature is right. */
export interface SignedDelivery {
  readonly id: string;
  /** Null where the body says it. */
  readonly event: string | null;
}

export type Checked =
  | { readonly delivery: SignedDelivery }
  | { readonly refusal: { readonly code: string; readonly detail: string } };

/** As https://www.standardwebhooks.com advises: so far may the sender's clock be away, and so long may a request be sent again by who overheard it. */
const TOLERANCE_SECONDS = 300;
const ID = /^[\x21-\x7e]{1,256}$/;

/** Says whether one of the hook's secrets has signed the body, and which delivery it is. */
export function checkSignature(
  hook: Pick<Hook, "form" | "secrets">,
  { headers, body, nowMs }: { headers: Headers; body: Uint8Array; nowMs: number },
): Checked {
  return hook.form === "github"
    ? checkGitHub(hook.secrets, headers, body)
    : checkStandard(hook.secrets, { headers, body, nowMs });
}

function checkStandard(
  secrets: readonly Uint8Array[],
  { headers, body, nowMs }: { headers: Headers; body: Uint8Array; nowMs: number },
): Checked {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  const signatures = headers.get("webhook-signature") ?? "";
  if (!ID.test(id) || !/^\d{1,12}$/.test(timestamp) || signatures === "")
    return missing("webhook-id, webhook-timestamp and webhook-signature");
  const given = signatures
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice(3), "base64"));
  const isSigned = isOneOf(given, secrets, (hmac) =>
    hmac.update(`${id}.${timestamp}.`).update(body),
  );
  if (!isSigned) return WRONG;
  const isFresh = Math.abs(nowMs / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS;
  if (isFresh) return { delivery: { id, event: null } };
  const detail = `webhook-timestamp is more than ${TOLERANCE_SECONDS} seconds away from the clock here`;
  return { refusal: { code: "expired_signature", detail } };
}

/** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries; it signs no time and no id. */
function checkGitHub(secrets: readonly Uint8Array[], headers: Headers, body: Uint8Array): Checked {
  const id = headers.get("x-github-delivery") ?? "";
  const event = headers.get("x-github-event") ?? "";
  const [, signature] =
    /^sha256=([0-9a-f]{64})$/.exec(headers.get("x-hub-signature-256") ?? "") ?? [];
  if (!ID.test(id) || !ID.test(event) || signature === undefined)
    return missing("X-GitHub-Delivery, X-GitHub-Event and X-Hub-Signature-256");
  const given = [Buffer.from(signature, "hex")];
  return isOneOf(given, secrets, (hmac) => hmac.update(body)) ? { delivery: { id, event } } : WRONG;
}

type Hmac = ReturnType<typeof createHmac>;

/** Compares all with all, each in constant time: the time says neither how much of a signature was right nor which secret it was. */
function isOneOf(
  given: readonly Uint8Array[],
  secrets: readonly Uint8Array[],
  sign: (hmac: Hmac) => Hmac,
): boolean {
  let isFound = false;
  for (const secret of secrets) {
    const expected = sign(createHmac("sha256", secret)).digest();
    for (const one of given)
      if (one.length === expected.length && timingSafeEqual(one, expected)) isFound = true;
  }
  return isFound;
}

const WRONG: Checked = {
  refusal: {
    code: "bad_signature",
    detail:
      "none of this hook's secrets has signed this body: compare the secret here and at the sender",
  },
};

function missing(headers: string): Checked {
  return { refusal: { code: "bad_signature", detail: `the headers ${headers} must be there` } };
}
