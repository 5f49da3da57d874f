import { createHash, hash, hkdfSync } from "node:crypto";
import { createSecretCipher, type SecretCipher } from "@switchyard/service/secret-cipher";
import type { ScalarKind } from "@switchyard/rules/values/recorded-value";

type Scalar = string | number | boolean | null;

/** One key of the file, in the two forms in which the audit uses it. */
export interface ValueKey {
  /** Identifies the key in records. */
  readonly id: string;
  /** Returns the digest of a value of one owner, 22 characters. Different owners, and different types, have different digests. */
  readonly digest: (owner: string, value: Scalar) => string;
}

export interface ValueKeys {
  /** The key of new records; null without any. */
  readonly newest: ValueKey | null;
  readonly byId: ReadonlyMap<string, ValueKey>;
  /** Encrypts with the newest key, decrypts with all; null without any. */
  readonly cipher: SecretCipher | null;
}

/** Keeps the key of the digests apart from the one that encrypts. */
const PURPOSE = "switchyard audit value digest";
const DIGEST_BYTES = 16;

/** Reads the keys of the file, the newest first. */
export function createValueKeys(keys: readonly Uint8Array[]): ValueKeys {
  const all = keys.map(valueKeyOf);
  return {
    newest: all[0] ?? null,
    byId: new Map(all.map((key) => [key.id, key])),
    cipher: createSecretCipher(keys),
  };
}

function valueKeyOf(key: Uint8Array): ValueKey {
  const hmac = createHmacSha256(Buffer.from(hkdfSync("sha256", key, "", PURPOSE, 32)));
  return {
    id: createHash("sha256").update(key).digest("hex").slice(0, 8),
    digest: (owner, value) =>
      hmac(`${owner}\n${kindOf(value)}\n${comparableText(value)}`)
        .subarray(0, DIGEST_BYTES)
        .toString("base64url"),
  };
}

const BLOCK_BYTES = 64;

/**
 * HMAC-SHA-256 (RFC 2104) by two hashes of one call each. `createHmac` makes an object for each text, which costs five times as much, and a
 * decision has several. `key` has at most a block.
 */
export function createHmacSha256(key: Uint8Array): (text: string) => Buffer {
  const padded = (byte: number): Buffer => {
    const block = Buffer.alloc(BLOCK_BYTES);
    block.set(key);
    return Buffer.from(block.map((one) => one ^ byte));
  };
  const [inner, outer] = [padded(0x36), padded(0x5c)];
  return (text) => {
    const first = hash("sha256", Buffer.concat([inner, Buffer.from(text)]), "buffer");
    return hash("sha256", Buffer.concat([outer, first]), "buffer");
  };
}

export function kindOf(value: Scalar): ScalarKind {
  return value === null ? "null" : (typeof value as ScalarKind); // of a scalar
}

/** Values that rules compare as equal have the same text: theirs is in NFC. */
function comparableText(value: Scalar): string {
  return typeof value === "string" ? value.normalize("NFC") : String(value);
}

/** Returns the text that binds encrypted arguments to their record, so that those of one cannot be put into another. */
export function sealContext(owner: string, argsDigest: string): string {
  return `arguments of ${owner} in the audit: ${argsDigest}`;
}
