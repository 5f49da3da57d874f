import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ensureKeys, writeSecret } from "../key-directory.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/**
 * `yard keys init`: the keys of every NATS user, the run-token key, and `auth.conf` for nats-server.
 * Existing keys stay; `auth.conf` follows the contracts.
 */
export async function init(
  terminal: Terminal,
  options: { json?: true; dir: string; anonymous?: true },
): Promise<void> {
  const directory = resolve(options.dir);
  const keys = await ensureKeys(directory);
  const authFile = join(directory, "auth.conf");
  const wanted = keys.authorization({ anonymous: options.anonymous ?? false });
  const current = await readFile(authFile, "utf8").catch(() => null);
  const rewritten = current !== wanted;
  if (rewritten) await writeSecret(authFile, wanted);
  if (options.json) {
    return writeJson(terminal, { directory, created: keys.created, authFile, rewritten });
  }
  for (const name of keys.created) terminal.out(`created the key of ${name}`);
  if (rewritten) terminal.out(`wrote ${authFile}`);
  if (keys.created.length === 0 && !rewritten) terminal.note(`${directory} is complete`);
}
