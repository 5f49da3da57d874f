import {
  checkWebhook,
  isOneOf,
  WEBHOOK_TOLERANCE_SECONDS,
} from "@switchyard/service/standard-webhook";
import type { Hook } from "./hooks-file.ts";

/** The facts in the headers of a delivery whose signature is valid. */
export interface SignedDelivery {
  readonly id: string;
  /** Null when the event is named in the body. */
  readonly event: string | null;
}

export type Checked =
  | { readonly delivery: SignedDelivery }
  | { readonly refusal: { readonly code: string; readonly detail: string } };

const ID = /^[\x21-\x7e]{1,256}$/;

/** Checks that one of the hook's secrets has signed the body, and returns the delivery. */
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
  const checked = checkWebhook(secrets, { header: (name) => headers.get(name), body, nowMs });
  if ("id" in checked) return { delivery: { id: checked.id, event: null } };
  switch (checked.refusal) {
    case "missing":
      return missing("webhook-id, webhook-timestamp and webhook-signature");
    case "wrong":
      return WRONG;
    case "expired": {
      const detail = `webhook-timestamp is more than ${WEBHOOK_TOLERANCE_SECONDS} seconds away from the clock here`;
      return { refusal: { code: "expired_signature", detail } };
    }
    default:
      return checked.refusal satisfies never;
  }
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
