import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readSecret, writeSecret } from "./secret-files.ts";

/**
 * Keys with which services encrypt what Redis keeps: the broker logins at MCP servers, the gateway secrets of webhooks, both tool
 * providers the values behind masks. With `audit-values` the policy service digests and encrypts arguments in the audit.
 */
export const CIPHER_KEYS = ["mcp-logins", "webhooks", "masks", "audit-values"] as const;
export type CipherKey = (typeof CIPHER_KEYS)[number];

const KEY_BYTES = 32;

export function cipherKeyFile(keys: string, name: CipherKey): string {
  return join(keys, `${name}.key`);
}

/** The key in base64; made when there is none yet. */
export async function ensureCipherKey(
  keys: string,
  name: CipherKey,
): Promise<{ readonly key: string; readonly isNew: boolean }> {
  const file = cipherKeyFile(keys, name);
  const known = await readSecret(file);
  if (known !== null) return { key: known, isNew: false };
  const made = randomBytes(KEY_BYTES).toString("base64");
  await writeSecret(file, made);
  return { key: made, isNew: true };
}

/** Puts a new key in front of the others of the file: it encrypts from then on, and the others still decrypt. Null without a file. */
export async function rotateCipherKey(
  keys: string,
  name: CipherKey,
): Promise<{ readonly file: string; readonly keys: number } | null> {
  const file = cipherKeyFile(keys, name);
  const known = await readSecret(file);
  if (known === null) return null;
  const all = [randomBytes(KEY_BYTES).toString("base64"), ...known.split(",")];
  await writeSecret(file, all.join(","));
  return { file, keys: all.length };
}
