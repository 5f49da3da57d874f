import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readSecret, writeSecret } from "./secret-files.ts";

const KEY_BYTES = 32;

export const LOGIN_KEY_FILE = "mcp-logins.key";

/** The key that the broker encrypts logins at MCP servers with, in base64; made when there is none yet. */
export async function ensureLoginKey(keys: string): Promise<string> {
  const file = join(keys, LOGIN_KEY_FILE);
  const known = await readSecret(file);
  if (known !== null) return known;
  const made = randomBytes(KEY_BYTES).toString("base64");
  await writeSecret(file, made);
  return made;
}
