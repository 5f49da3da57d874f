import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { redisAcl, redisUserNames } from "@switchyard/topology/redis-acl";
import { readSecret, writeSecret } from "./secret-files.ts";

/** The users of Redis and their passwords, as files of the key directory. */
export interface RedisPasswords {
  /** Names of the files that were made now. */
  readonly created: readonly string[];
  /** The access list for the server: the SHA-256 of each password and what each user may do. */
  readonly acl: string;
  password(user: string): string;
}

export function redisPasswordFile(directory: string, user: string): string {
  return join(directory, `${user}.redis`);
}

/** Makes the passwords that are missing, one for each user of Redis. An existing one is never replaced. */
export async function ensureRedisPasswords(directory: string): Promise<RedisPasswords> {
  const passwords = new Map<string, string>();
  const created: string[] = [];
  for (const user of redisUserNames) {
    const file = redisPasswordFile(directory, user);
    const known = await readSecret(file);
    const password = known ?? randomBytes(PASSWORD_BYTES).toString("base64url");
    if (known === null) {
      await writeSecret(file, password);
      created.push(`${user}.redis`);
    }
    passwords.set(user, password);
  }
  const hashes = [...passwords].map(([user, password]) => [user, sha256(password)] as const);
  return {
    created,
    acl: redisAcl({ passwordHashes: new Map(hashes) }),
    password: (user) => {
      const password = passwords.get(user);
      if (password === undefined) throw new Error(`Redis has no user ${user}`);
      return password;
    },
  };
}

/** The password has as much entropy as a key; a fast hash is enough for that. */
const PASSWORD_BYTES = 32;

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
