import { createHmac, hkdfSync } from "node:crypto";

/** Tells two texts apart without showing them: without the key nobody can test a guess. */
export type KeyedDigest = (text: string) => string;

const DIGEST_BYTES = 32;
/** Keeps the key of the digests apart from the one that encrypts. */
const PURPOSE = "switchyard mcp keyed digest";

export function createKeyedDigest(key: Uint8Array): KeyedDigest {
  const own = Buffer.from(hkdfSync("sha256", key, "", PURPOSE, DIGEST_BYTES));
  return (text) => `hmac-sha256:${createHmac("sha256", own).update(text).digest("hex")}`;
}
