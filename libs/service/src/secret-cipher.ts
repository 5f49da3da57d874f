import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** Encrypts the secrets that a service stores in Redis. */
export interface SecretCipher {
  /** `context` is bound to the text, so that one cannot be put in the place of another. */
  readonly seal: (text: string, context: string) => string;
  /** Throws SealError when no key opens it. */
  readonly open: (sealed: string, context: string) => string;
  /** True when it was sealed with the key that seals now. */
  readonly isNewest: (sealed: string) => boolean;
}

/** A stored text does not open. */
export class SealError extends Error {
  override readonly name = "SealError";
  readonly reason: "unknown_key" | "changed";

  constructor(reason: "unknown_key" | "changed", options?: ErrorOptions) {
    super(
      reason === "unknown_key" ? "it was kept with another key" : "it was changed where it is kept",
      options,
    );
    this.reason = reason;
  }
}

const ALGORITHM = "aes-256-gcm";
const VERSION = "v1";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HOW_TO = "make one with: openssl rand -base64 32";

/**
 * Reads keys of 32 bytes in base64 or hex, with commas. Throws an Error that shows none of them: one that is wrong by one character is
 * still a secret.
 */
export function readCipherKeys(text: string): Buffer[] {
  const texts = text.split(",").map((one) => one.trim());
  return texts
    .filter((one) => one !== "")
    .map((one, index) => {
      const key = Buffer.from(one, /^[0-9a-f]{64}$/i.test(one) ? "hex" : "base64");
      if (key.length === KEY_BYTES) return key;
      throw new Error(`key ${index + 1} has no ${KEY_BYTES} bytes in base64 or hex; ${HOW_TO}`);
    });
}

/** The first key seals, all of them open: a new one is put in front, and the old one taken out later. Null without a key. */
export function createSecretCipher(keys: readonly Uint8Array[]): SecretCipher | null {
  const known = keys.map((bytes) => ({
    id: createHash("sha256").update(bytes).digest("hex").slice(0, 8),
    bytes,
  }));
  const [first] = known;
  if (first === undefined) return null;
  return {
    seal(text, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, first.bytes, iv).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      const parts = [iv, cipher.getAuthTag(), sealed].map((part) => part.toString("base64url"));
      return [VERSION, first.id, ...parts].join(".");
    },
    open(sealed, context) {
      const [version, id, ...parts] = sealed.split(".");
      const key = version === VERSION ? known.find((each) => each.id === id) : undefined;
      if (key === undefined) throw new SealError("unknown_key");
      const [iv, tag, text] = parts.map((part) => Buffer.from(part, "base64url"));
      try {
        // Otherwise Node.js takes shorter tags, too, which are easier to guess.
        const whole = { authTagLength: TAG_BYTES };
        const decipher = createDecipheriv(ALGORITHM, key.bytes, iv ?? Buffer.alloc(IV_BYTES), whole)
          .setAAD(Buffer.from(context))
          .setAuthTag(tag ?? Buffer.alloc(TAG_BYTES));
        return Buffer.concat([
          decipher.update(text ?? Buffer.alloc(0)),
          decipher.final(),
        ]).toString();
      } catch (cause) {
        throw new SealError("changed", { cause });
      }
    },
    isNewest: (sealed) => sealed.startsWith(`${VERSION}.${first.id}.`),
  };
}
