import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readSecret, writeSecret } from "./secret-files.ts";

/**
 * Keys with which services encrypt what Redis keeps: the broker logins at MCP servers, the gateway secrets of webhooks, both tool
 * providers the values behind masks.
 */
export const CIPHER_KEYS = ["mcp-logins", "webhooks", "masks"] as const;
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
