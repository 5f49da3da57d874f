import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ensureKeys } from "../key-directory.ts";
import { replaceFile } from "../secret-files.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/**
 * `yard keys init`: the keys of every NATS user, the run-token key and the passwords of Redis, with
 * `auth.conf` for nats-server and `users.acl` for Redis. Existing keys stay; the two lists follow the
 * contracts. Client teams are users like any other, for as long as their public key is there.
 */
export async function init(
  terminal: Terminal,
  options: { json?: true; dir: string; anonymous?: true; client?: readonly string[] },
): Promise<void> {
  const directory = resolve(options.dir);
  const keys = await ensureKeys(directory, { clients: options.client ?? [] });
  const authFile = join(directory, "auth.conf");
  const anonymous = options.anonymous ?? false;
  const rewritten = await writeIfChanged(authFile, keys.authorization({ anonymous }));
  const aclFile = join(directory, "users.acl");
  const aclRewritten = await writeIfChanged(aclFile, keys.redis.acl);
  if (options.json) {
    const { created } = keys;
    return writeJson(terminal, { directory, created, authFile, rewritten, aclFile, aclRewritten });
  }
  for (const name of keys.created) terminal.out(`created the key of ${name}`);
  if (rewritten) terminal.out(`wrote ${authFile}`);
  if (aclRewritten) terminal.out(`wrote ${aclFile}`);
  if (keys.created.length === 0 && !rewritten && !aclRewritten)
    terminal.note(`${directory} is complete`);
}

async function writeIfChanged(file: string, wanted: string): Promise<boolean> {
  const current = await readFile(file, "utf8").catch(() => null);
  if (current === wanted) return false;
  await replaceFile(file, wanted);
  return true;
}
