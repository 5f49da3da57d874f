import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";

/** Algorithms of the format: of a key, and of a signature of the file's BLAKE2b-512. */
const KEY = Buffer.from("Ed");
const PREHASHED = Buffer.from("ED");
const KEY_ID_BYTES = 8;
const RAW_KEY_BYTES = 32;

/** Reads an Ed25519 key, as `openssl genpkey -algorithm ed25519` writes it. Rejects with the path and the command that makes one. */
export async function readSigningKey(path: string): Promise<KeyObject> {
  const hint = `make one with: openssl genpkey -algorithm ed25519 -out ${path}`;
  const pem = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`${path} cannot be read; ${hint}`, { cause });
  });
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new Error(`${path} has no private key in PEM that needs no password; ${hint}`, { cause });
  }
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new Error(`${path} has a key of type ${key.asymmetricKeyType}, not ed25519; ${hint}`);
}

/** The text of minisign.pub that belongs to a private key. */
export function minisignPublicKey(key: KeyObject): string {
  const { id, raw } = publicPart(key);
  return `untrusted comment: minisign public key ${idText(id)}\n${base64(KEY, id, raw)}\n`;
}

/**
 * Signs data as `minisign -S` does, so that `minisign -V` verifies it: https://jedisct1.github.io/minisign/#signature-format. The comment is one line,
 * and signed too.
 */
export function minisign(key: KeyObject, data: Uint8Array, comment: string): string {
  const { id } = publicPart(key);
  const signature = sign(null, createHash("blake2b512").update(data).digest(), key);
  const both = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key);
  return [
    `untrusted comment: signature of minisign key ${idText(id)}`,
    base64(PREHASHED, id, signature),
    `trusted comment: ${comment}`,
    both.toString("base64"),
    "",
  ].join("\n");
}

/** The identifier of a key, as minisign shows it. */
export function keyId(key: KeyObject): string {
  return idText(publicPart(key).id);
}

function publicPart(key: KeyObject): { readonly id: Buffer; readonly raw: Buffer } {
  const raw = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-RAW_KEY_BYTES);
  // minisign draws it; made of the key it is the same in each release.
  return { id: createHash("sha256").update(raw).digest().subarray(0, KEY_ID_BYTES), raw };
}

function idText(id: Buffer): string {
  return Buffer.from(id.toReversed()).toString("hex").toUpperCase();
}

function base64(...parts: readonly Buffer[]): string {
  return Buffer.concat(parts).toString("base64");
}
