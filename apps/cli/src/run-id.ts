const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A ULID (https://github.com/ulid/spec): 48 bits of time in milliseconds and 80 random bits, so ids sort by time. */
export function runIdOf(nowMs: number, random: Uint8Array): string {
  let value = BigInt(nowMs);
  for (const byte of random.subarray(0, 10)) value = (value << 8n) | BigInt(byte);
  let id = "";
  for (let index = 0; index < 26; index += 1) {
    id = (ALPHABET[Number(value & 31n)] ?? "") + id;
    value >>= 5n;
  }
  return id;
}
