import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from "node:crypto";
import type { Authenticator } from "@nats-io/transport-node";

/** https://docs.nats.io/reference/reference-protocols/nats-protocol: an NKey is prefix, Ed25519 key and CRC-16, in base32. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** `SU` and `U` in base32: the seed of a user, and a user. */
const SEED_OF_USER = Buffer.from([0x95, 0x00]);
const USER = Buffer.from([0xa0]);
/** The prefix of the 32 bytes of an Ed25519 private key, from RFC 8410. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const KEY_BYTES = 32;
const CRC_BYTES = 2;

/** A new NKey pair of a NATS user: the seed is the secret, the public key goes into the server's configuration. */
export function createUserKey(): { seed: string; publicKey: string } {
  const key = randomBytes(KEY_BYTES);
  return { seed: encoded(SEED_OF_USER, key), publicKey: publicKeyOf(privateKey(key)) };
}

/** True for the NKey seed of a NATS user, with or without white space around it. */
export function isUserSeed(text: string): boolean {
  return keyInSeed(text) !== null;
}

/**
 * Logs in with `seed`, and at the next connect with the result of `read` since then: the client needs an answer at once, while reading
 * takes its time. A seed that cannot be read, or is invalid, leaves the last one in use.
 *
 * Node.js signs. The NKey library signs in JavaScript, and its first signature takes longer than all other steps of a connect.
 */
export function seedAuthenticator(
  seed: string,
  read: () => string | Promise<string>,
): Authenticator {
  let current = keyInSeed(seed);
  const refresh = async (): Promise<void> => {
    current = keyInSeed(await read()) ?? current;
  };
  return (nonce) => {
    if (current === null) throw new Error("this is not the NKey seed of a user");
    const key = privateKey(current);
    const signature = sign(null, Buffer.from(nonce ?? ""), key).toString("base64");
    void refresh().catch(() => {}); // it is read again at the next connect
    return { nkey: publicKeyOf(key), sig: signature };
  };
}

function privateKey(key: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8, key]), format: "der", type: "pkcs8" });
}

function publicKeyOf(key: KeyObject): string {
  const der = createPublicKey(key).export({ format: "der", type: "spki" });
  return encoded(USER, der.subarray(-KEY_BYTES));
}

/** The 32 bytes of a user's seed; null for any other text. */
function keyInSeed(text: string): Buffer | null {
  const seed = text.trim();
  const start = SEED_OF_USER.length;
  const key = fromBase32(seed).subarray(start, start + KEY_BYTES);
  // Encoded again it has the right prefix and checksum, so nothing else needs to be compared.
  return encoded(SEED_OF_USER, key) === seed ? key : null;
}

function encoded(prefix: Buffer, key: Buffer): string {
  const checksum = Buffer.alloc(CRC_BYTES);
  checksum.writeUInt16LE(crc16(Buffer.concat([prefix, key])));
  return toBase32(Buffer.concat([prefix, key, checksum]));
}

/** RFC 4648 without padding. */
function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}

/** Returns arbitrary bytes for a text that is not base32. */
function fromBase32(text: string): Buffer {
  const values = Array.from(text, (letter) => Math.max(0, ALPHABET.indexOf(letter)));
  const bits = values.map((value) => value.toString(2).padStart(5, "0")).join("");
  const bytes = bits.match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}

/** CRC-16/XMODEM. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc;
}
