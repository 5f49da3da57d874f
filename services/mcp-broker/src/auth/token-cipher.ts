import {
  createSecretCipher,
  readCipherKeys,
  SealError,
  type SecretCipher,
} from "@switchyard/service/secret-cipher";
import { createKeyedDigest, type KeyedDigest } from "./keyed-digest.ts";

/** Encrypts the logins and secrets that Redis stores. `open` throws TokenKeyError when no key opens it. */
export interface TokenCipher extends Pick<SecretCipher, "seal" | "open" | "isNewest"> {
  /** With the key that encrypts, so that all brokers with the same setting agree. */
  readonly digest: KeyedDigest;
}

/** A login is stored, and no configured key decrypts it. */
export class TokenKeyError extends Error {
  override readonly name = "TokenKeyError";
}

/** The file of keys that encrypt logins, for messages. */
export const TOKEN_KEY_FILE = "mcp-logins.key";

const MESSAGES = {
  unknown_key: `a login was kept with a key that ${TOKEN_KEY_FILE} does not have; add that key behind the first, or log in again with yard mcp login`,
  changed: "a kept login was changed and cannot be opened; log in again with yard mcp login",
} as const satisfies Record<SealError["reason"], string>;

/** Reads the setting: keys as `readCipherKeys` takes them. Null for an empty setting. */
export function parseTokenKeys(setting: string): TokenCipher | null {
  return createTokenCipher(readCipherKeys(setting));
}

/** Null without a key. */
export function createTokenCipher(keys: readonly Uint8Array[]): TokenCipher | null {
  const cipher = createSecretCipher(keys);
  const [first] = keys;
  if (cipher === null || first === undefined) return null;
  return {
    digest: createKeyedDigest(first),
    seal: cipher.seal,
    isNewest: cipher.isNewest,
    open(sealed, context) {
      try {
        return cipher.open(sealed, context);
      } catch (cause) {
        if (cause instanceof SealError) throw new TokenKeyError(MESSAGES[cause.reason], { cause });
        throw cause;
      }
    },
  };
}
