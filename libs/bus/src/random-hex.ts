import { randomBytes } from "node:crypto";

const POOL_BYTES = 4_096;

let pool = "";
let used = 0;

/**
 * Cryptographically random lower-case hexadecimal digits, taken from a pool because one call to the
 * random source costs more than everything else that a message needs. `digits` is at most 64.
 */
export function randomHex(digits: number): string {
  if (used + digits > pool.length) {
    pool = randomBytes(POOL_BYTES).toString("hex");
    used = 0;
  }
  used += digits;
  return pool.slice(used - digits, used);
}
