import { stat } from "node:fs/promises";
import { join } from "node:path";
import { readCipherKeys } from "./secret-cipher.ts";
import { readSecretFile } from "./secret-file.ts";
import { StartError } from "./start-error.ts";

/** The setting that names the directory, for messages. */
export const KEYS_SETTING = "YARD_KEYS_DIR";

/** The files that services read there beside their NKey. `yard keys init` makes the keys, `yard dev` the token; secrets of OIDC and Sentinels come from their operators. */
export type KeyFile =
  | "mcp-logins.key"
  | "webhooks.key"
  | "masks.key"
  | "audit-values.key"
  | "laptop.token"
  | "oidc-client.secret"
  | "sentinel.password"
  | `${string}.redis`;

/**
 * The secret of a file in the directory of keys. Null without a directory or such a file: then the service refuses what needs the key.
 * Rejects with a StartError when the directory is missing, and when the file is empty or cannot be read.
 */
export async function readKeyFile(
  directory: string | undefined,
  name: KeyFile,
): Promise<string | null> {
  if (directory === undefined) return null;
  try {
    return await readSecretFile(join(directory, name), KEYS_SETTING);
  } catch (error) {
    if (!isMissing(error instanceof Error ? error.cause : error)) throw error;
  }
  try {
    if ((await stat(directory)).isDirectory()) return null;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  throw new StartError(`${KEYS_SETTING}: there is no directory ${directory}`, {
    hint: "make it with: yard keys init --dir DIR",
  });
}

/** The keys of such a file, the newest first, as `readCipherKeys` takes them; none where {@link readKeyFile} returns null. */
export async function readCipherKeyFile(
  directory: string | undefined,
  name: KeyFile,
): Promise<Buffer[]> {
  const text = await readKeyFile(directory, name);
  if (text === null) return [];
  try {
    return readCipherKeys(text);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : "";
    throw new StartError(`${KEYS_SETTING}: ${name}: ${problem}`, {
      hint: "make the file with: yard keys init --dir DIR",
      cause,
    });
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "ENOENT" || code === "ENOTDIR";
}
