import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The users of a local Redis and their rights. Without it every client may do everything, as on a bare server. */
export interface RedisAccess {
  /** Text of the server's access list (`aclfile`): a `user …` line for each user. */
  readonly acl: string;
  /** A user of the list that may run PING and INFO, by which the start is watched. */
  readonly probeUser: string;
  readonly probePassword: string;
}

/** The name of the access list in the data directory. */
export const ACL_FILE = "users.acl";

/** Puts the access list into the data directory, for its owner alone. */
export async function writeAclFile(dataDir: string, acl: string): Promise<void> {
  const file = join(dataDir, ACL_FILE);
  await rm(file, { force: true });
  await writeFile(file, acl, { mode: 0o600 });
}

/** Credentials for `probeRedis`. */
export function probeCredentials(access: RedisAccess | undefined): {
  username?: string;
  password?: string;
} {
  return access === undefined ? {} : { username: access.probeUser, password: access.probePassword };
}
