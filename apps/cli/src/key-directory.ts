import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createUserKey } from "@switchyard/bus/keys";
import {
  anonymousUser,
  installedUsers,
  operatorUser,
  type ForeignSource,
} from "@switchyard/topology/topology";
import { SCHEDULER_USER } from "@switchyard/contracts/user-names";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { CliError } from "./cli-error.ts";
import { clientTeams } from "./client-teams.ts";
import { CIPHER_KEYS, ensureCipherKey } from "./cipher-keys.ts";
import { seedFile } from "./nkey-seed.ts";
import { ensureRedisPasswords, type RedisPasswords } from "./redis-passwords.ts";
import { readSecret, writeSecret } from "./secret-files.ts";

export interface KeyDirectory {
  readonly path: string;
  /** Names of the keys that this call made; empty when all of them were there. */
  readonly created: readonly string[];
  readonly runTokenKeyFile: string;
  readonly redis: RedisPasswords;
  /**
   * The `authorization` block for nats-server, with the public keys. `sources` are the subjects of triggers: the scheduler may
   * subscribe to them, and clients without credentials, if there are any, may publish there.
   */
  authorization(options: {
    anonymous: boolean;
    sources?: readonly ForeignSource[] | undefined;
  }): string;
}

/**
 * Makes the keys that are missing: an NKey for each user (`broker.nk`, with the public half in `broker.pub`), the key that signs
 * run tokens (`run-token.jwk`), the key that encrypts logins at MCP servers (`mcp-logins.key`) and secrets of webhooks
 * (`webhooks.key`), masked values (`masks.key`) and arguments in the audit (`audit-values.key`), and a Redis password for each service (`broker.redis`). Existing ones are never replaced. The directory is for
 * its owner alone. `clients` are teams that get a user, beside those that have a public key there already. The seed of the
 * operator, if there is to be one, lies apart, in the file `operator`: a copy of the directory must not contain it.
 */
export async function ensureKeys(
  directory: string,
  {
    clients = [],
    operator,
  }: { readonly clients?: readonly string[]; readonly operator?: string } = {},
): Promise<KeyDirectory> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Only the owner may list or change it. A search bit for others is kept, because it gives access to files that they own.
  await chmod(directory, 0o700 | ((await stat(directory)).mode & 0o011));
  const created: string[] = [];
  const publicKeys = new Map<string, string>();
  const teams = await clientTeams(directory, clients);
  const users = [...installedUsers, ...teams];
  const operatorKey = await operatorPublicKey(directory, operator);
  if (operatorKey.publicKey !== null) publicKeys.set(operatorUser.name, operatorKey.publicKey);
  if (operatorKey.isNew) created.push(operatorUser.name);
  for (const { name } of users) {
    const isTeam = teams.some((team) => team.name === name);
    const known = await readUserKey(directory, name, { mayLackSeed: isTeam });
    publicKeys.set(name, known ?? (await createKeyFiles(directory, name)));
    if (known === null) created.push(name);
  }
  const runTokenKeyFile = join(directory, "run-token.jwk");
  if ((await readSecret(runTokenKeyFile)) === null) {
    const { privateJwk, publicJwk } = await createRunTokenKey();
    await writeSecret(join(directory, "run-token.pub.jwk"), publicJwk);
    await writeSecret(runTokenKeyFile, privateJwk);
    created.push("run-token");
  }
  for (const name of CIPHER_KEYS)
    if ((await ensureCipherKey(directory, name)).isNew) created.push(name);
  const redis = await ensureRedisPasswords(directory);
  return {
    path: directory,
    created: [...created, ...redis.created],
    runTokenKeyFile,
    redis,
    authorization: ({ anonymous, sources = [] }) =>
      natsAuthorization({
        users: [...users, operatorUser]
          .filter(({ name }) => publicKeys.has(name))
          .map((user) =>
            user.name === SCHEDULER_USER
              ? Object.assign({}, user, { foreignSources: sources })
              : user,
          )
          .map((user) => ({ user, nkey: publicKeys.get(user.name) ?? "" })),
        ...(anonymous ? { anonymous: { ...anonymousUser, sends: foreignSubjects(sources) } } : {}),
      }),
  };
}

/** Yard's own events are published by their services alone. */
function foreignSubjects(sources: readonly ForeignSource[]): string[] {
  return sources.map(({ subject }) => subject).filter((subject) => !subject.startsWith("yard."));
}

/** The public half is in the directory, for the server's list; the seed is written to the caller's path. */
async function operatorPublicKey(
  directory: string,
  file: string | undefined,
): Promise<{ publicKey: string | null; isNew: boolean }> {
  const { name } = operatorUser;
  const known = await readUserKey(directory, name, { mayLackSeed: true });
  if (known !== null || file === undefined) return { publicKey: known, isNew: false };
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  return { publicKey: await createKeyFiles(directory, name, file), isNew: true };
}

async function createKeyFiles(
  directory: string,
  user: string,
  file: string = seedFile(directory, user),
): Promise<string> {
  const { seed, publicKey } = createUserKey();
  // The seed last: where it is, its public half is too.
  await writeSecret(join(directory, `${user}.pub`), publicKey);
  await writeSecret(file, seed);
  return publicKey;
}

async function readUserKey(
  directory: string,
  user: string,
  { mayLackSeed }: { mayLackSeed: boolean },
): Promise<string | null> {
  const publicFile = join(directory, `${user}.pub`);
  const publicKey = await readSecret(publicFile);
  if (mayLackSeed && publicKey !== null) return checkedPublicKey(publicFile, publicKey);
  if ((await readSecret(seedFile(directory, user))) === null) return null;
  if (publicKey === null) {
    throw new CliError(
      "start_failed",
      `${seedFile(directory, user)} is there, ${publicFile} is not`,
      {
        hint: "put the public key back, or remove the seed so that both are made anew",
      },
    );
  }
  return checkedPublicKey(publicFile, publicKey);
}

/** It is copied into the server's configuration unchanged, and a team's key is input from outside. */
function checkedPublicKey(file: string, publicKey: string): string {
  if (/^U[A-Z2-7]{55}$/.test(publicKey)) return publicKey;
  throw new CliError("start_failed", `${file} holds no public NKey of a user`, {
    hint: "it is one line of 56 characters that begins with U, as nk -gen user -pubout prints it",
  });
}
