import { crc32 } from "node:zlib";
import type { Check } from "../pattern-rule.ts";

const PLACEHOLDER =
  /example|placeholder|your|insert|replace|change|dummy|fake|sample|test|xxxx|\.\.\.|1234567|abcdef|000000|<|>|\*\*\*|secret_?key|redacted|todo/i;
const MIN_ENTROPY_BITS = 3.2;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const looksRandom: Check = (match) => (isRandom(match[1] ?? match[0]) ? {} : null);

/** Neither a placeholder nor a text that repeats itself. */
function isRandom(token: string): boolean {
  return !PLACEHOLDER.test(token) && entropyBits(token) >= MIN_ENTROPY_BITS;
}

/** Tokens of GitHub and npm end in a checksum of the text before it. */
const hasChecksum: Check = (match) => {
  const token = match[1] ?? "";
  if (checksumOf(token.slice(0, -6)) === token.slice(-6))
    return { confidence: "high", severity: "critical" };
  return isRandom(token) ? { confidence: "low", severity: "low" } : null;
};

const passwordInUrl: Check = (match) => {
  const isLocal = /@(?:localhost|127\.0\.0\.1|db|host)\b/i.test(match[0]);
  return isLocal || !isRandom(match[1] ?? "") ? null : {};
};

export const SECRETS = { looksRandom, hasChecksum, passwordInUrl } as const;

function checksumOf(text: string): string {
  let rest = crc32(text);
  let written = "";
  for (let count = 0; count < 6; count += 1) {
    written = (BASE62[rest % 62] ?? "") + written;
    rest = Math.floor(rest / 62);
  }
  return written;
}

/** Shannon's measure, in bits a character. */
function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
