import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createUserKey } from "@switchyard/bus/keys";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { monitorRedisUser } from "@switchyard/topology/redis-access";
import { adminUser, cliUser, serviceUsers } from "@switchyard/topology/topology";
import type { RedisAccess } from "@switchyard/local-servers/redis-access";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { ensureRedisPasswords } from "../../../apps/cli/src/redis-passwords.ts";

/** Keys as in production: each user of NATS and of Redis has its own, and no permission beyond its contracts. */
export interface WorldKeys {
  readonly authorization: string;
  readonly redisAccess: RedisAccess;
  readonly path: string;
  seedFile(user: string): string;
  seed(user: string): string;
  redisPassword(user: string): string;
}

export async function makeWorldKeys(directory: string): Promise<WorldKeys> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const users = [...serviceUsers, cliUser, adminUser];
  const keys = new Map(users.map(({ name }) => [name, createUserKey()]));
  const seedFile = (user: string): string => join(directory, `${user}.nk`);
  for (const [name, { seed }] of keys) await writeFile(seedFile(name), seed, { mode: 0o600 });
  const { privateJwk } = await createRunTokenKey();
  await writeFile(join(directory, "run-token.jwk"), privateJwk, { mode: 0o600 });
  const redis = await ensureRedisPasswords(directory);
  return {
    redisAccess: {
      acl: redis.acl,
      probeUser: monitorRedisUser.name,
      probePassword: redis.password(monitorRedisUser.name),
    },
    redisPassword: (user) => redis.password(user),
    authorization: natsAuthorization({
      users: users.map((user) => ({ user, nkey: keys.get(user.name)?.publicKey ?? "" })),
    }),
    path: directory,
    seedFile,
    seed: (user) => keys.get(user)?.seed ?? "",
  };
}
