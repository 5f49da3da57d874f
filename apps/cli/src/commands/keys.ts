import { readFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { CliError } from "../cli-error.ts";
import { ensureKeys } from "../key-directory.ts";
import { replaceFile } from "../secret-files.ts";
import { triggerSources } from "../trigger-sources.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/**
 * `yard keys init`: the keys of every NATS user, the run-token key and the passwords of Redis, with
 * `auth.conf` for nats-server and `users.acl` for Redis. Existing keys stay; the two lists follow the
 * contracts. The key of the operator is made only when a file for it is named. Client teams are users like any other, for as long as their public key is there.
 */
export async function init(
  terminal: Terminal,
  options: {
    json?: true;
    dir: string;
    anonymous?: true;
    client?: readonly string[];
    operator?: string;
    triggers?: string;
  },
): Promise<void> {
  const directory = resolve(options.dir);
  const { triggers } = options;
  const sources = triggers === undefined ? [] : await triggerSources(resolve(triggers));
  const keys = await ensureKeys(directory, {
    clients: options.client ?? [],
    ...(options.operator === undefined
      ? {}
      : { operator: operatorFile(directory, options.operator) }),
  });
  const authFile = join(directory, "auth.conf");
  const anonymous = options.anonymous ?? false;
  const rewritten = await writeIfChanged(authFile, keys.authorization({ anonymous, sources }));
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

/** The directory's files are copied to servers and into Secrets. */
function operatorFile(directory: string, file: string): string {
  const path = resolve(file);
  if (!path.startsWith(`${directory}${sep}`)) return path;
  throw new CliError("usage", `${path} lies in the directory of the other keys`, {
    hint: "keep the operator's key elsewhere, away from every machine that runs Switchyard",
  });
}

async function writeIfChanged(file: string, wanted: string): Promise<boolean> {
  const current = await readFile(file, "utf8").catch(() => null);
  if (current === wanted) return false;
  await replaceFile(file, wanted);
  return true;
}
