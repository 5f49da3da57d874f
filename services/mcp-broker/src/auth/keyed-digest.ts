import { createHmac, hkdfSync } from "node:crypto";

/** Distinguishes texts without revealing them: a guess cannot be tested without the key. */
export type KeyedDigest = (text: string) => string;

const DIGEST_BYTES = 32;
/** Keeps the key of the digests apart from the one that encrypts. */
const PURPOSE = "switchyard mcp keyed digest";

export function createKeyedDigest(key: Uint8Array): KeyedDigest {
  const own = Buffer.from(hkdfSync("sha256", key, "", PURPOSE, DIGEST_BYTES));
  return (text) => `hmac-sha256:${createHmac("sha256", own).update(text).digest("hex")}`;
}
