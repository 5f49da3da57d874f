import { readFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { CliError } from "../cli-error.ts";
import { ensureKeys } from "../key-directory.ts";
import { replaceFile, writeSecret } from "../secret-files.ts";
import { teamManifest } from "../team-manifest.ts";
import { triggerSources } from "../trigger-sources.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/**
 * `yard keys init`: the keys of every NATS user, the run-token key and the passwords of Redis, with
 * `auth.conf` for nats-server and `users.acl` for Redis. Existing keys stay; the two lists follow the
 * contracts. The key of the operator is made only when a file for it is named. Client teams are users like any other, for as long as their public key is there;
 * `manifest` is a file that adds those of this call to an installation on Kubernetes.
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
    manifest?: string;
    namespace?: string;
  },
): Promise<void> {
  const directory = resolve(options.dir);
  const { triggers, client = [] } = options;
  if (options.manifest !== undefined && client.length === 0)
    throw new CliError("usage", "--manifest needs the teams that it is for", {
      hint: "add --client team-a",
    });
  const sources = triggers === undefined ? [] : await triggerSources(resolve(triggers));
  const keys = await ensureKeys(directory, {
    clients: client,
    ...(options.operator === undefined ? {} : { operator: apart(directory, options.operator) }),
  });
  const authFile = join(directory, "auth.conf");
  const anonymous = options.anonymous ?? false;
  const rewritten = await writeIfChanged(authFile, keys.authorization({ anonymous, sources }));
  const aclFile = join(directory, "users.acl");
  const aclRewritten = await writeIfChanged(aclFile, keys.redis.acl);
  const manifest = options.manifest === undefined ? null : apart(directory, options.manifest);
  if (manifest !== null) {
    const { namespace = "switchyard" } = options;
    await writeSecret(manifest, await teamManifest(directory, { teams: client, namespace }));
  }
  if (options.json) {
    const { created } = keys;
    const facts = { directory, created, authFile, rewritten, aclFile, aclRewritten };
    return writeJson(terminal, manifest === null ? facts : { ...facts, manifest });
  }
  for (const name of keys.created) terminal.out(`created the key of ${name}`);
  if (rewritten) terminal.out(`wrote ${authFile}`);
  if (aclRewritten) terminal.out(`wrote ${aclFile}`);
  if (manifest !== null) terminal.out(`wrote ${manifest}, which contains secrets`);
  else if (keys.created.length === 0 && !rewritten && !aclRewritten)
    terminal.note(`${directory} is complete`);
}

/** The directory's files are copied to servers and into Secrets. */
function apart(directory: string, file: string): string {
  const path = resolve(file);
  if (!path.startsWith(`${directory}${sep}`)) return path;
  throw new CliError("usage", `${path} lies in the directory of the other keys`, {
    hint: "name a file elsewhere; the operator's key belongs on no machine that runs Switchyard",
  });
}

async function writeIfChanged(file: string, wanted: string): Promise<boolean> {
  const current = await readFile(file, "utf8").catch(() => null);
  if (current === wanted) return false;
  await replaceFile(file, wanted);
  return true;
}
