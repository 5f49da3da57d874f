import { randomBytes } from "node:crypto";
import { SealError, type SecretCipher } from "@switchyard/service/secret-cipher";

/** The secrets of webhooks, which are encrypted in Redis. */
export interface WebhookSecrets {
  /** Creates a secret and its stored form; null when there is no key to encrypt it with. */
  make(id: string): { readonly secret: string; readonly kept: string } | null;
  /** Throws SealError when no key opens it. */
  open(id: string, kept: string): string;
  /**
   * Returns the secret encrypted with the newest key when it is stored without a key or with an older one; null when it is
   * current, or when there is no key. Throws as `open`.
   */
  renewed(id: string, kept: string): string | null;
}

/** The prefix of a secret's plain form, in which secrets without a key are also stored in Redis. */
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
