import { randomBytes } from "node:crypto";
import { SealError, type SecretCipher } from "@switchyard/service/secret-cipher";

/** The secrets of webhooks, which are encrypted in Redis. */
export interface WebhookSecrets {
  /** Null: there is no key to keep one with. */
  make(id: string): { readonly secret: string; readonly kept: string } | null;
  /** Throws SealError when no key opens it. */
  open(id: string, kept: string): string;
  /** As it is to be kept where that is another way: one of before there was a key, or of an older key. Throws as `open`. */
  renewed(id: string, kept: string): string | null;
}

/** How it is shown; one that was kept before there was a key lies so in Redis, too. */
const PLAIN = "whsec_";

export function createWebhookSecrets(cipher: SecretCipher | null): WebhookSecrets {
  const open: WebhookSecrets["open"] = (id, kept) => {
    if (kept.startsWith(PLAIN)) return kept;
    if (cipher === null) throw new SealError("unknown_key");
    return cipher.open(kept, contextOf(id));
  };
  return {
    make(id) {
      if (cipher === null) return null;
      const secret = `${PLAIN}${randomBytes(32).toString("base64")}`;
      return { secret, kept: cipher.seal(secret, contextOf(id)) };
    },
    open,
    renewed(id, kept) {
      if (cipher === null || cipher.isNewest(kept)) return null;
      return cipher.seal(open(id, kept), contextOf(id));
    },
  };
}

function contextOf(id: string): string {
  return `webhook:${id}`;
}
