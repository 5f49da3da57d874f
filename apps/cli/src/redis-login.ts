import type { InstanceRecord } from "./instance-record.ts";
import { redisPasswordFile } from "./redis-passwords.ts";

/** The login of one user at Redis: a URL with its name, and the file with its password. */
export interface RedisLogin {
  readonly url: string;
  readonly passwordFile: string | null;
}

/**
 * A Redis that we started has a user for each service. An external one is used exactly as its URL states: its users are managed by
 * its owner.
 */
export function redisLogin(options: {
  url: string;
  isOurs: boolean;
  /** Directory of the passwords. */
  keys: string;
  user: string;
}): RedisLogin {
  const { isOurs, keys, user } = options;
  if (!isOurs) return { url: options.url, passwordFile: null };
  const url = new URL(options.url);
  url.username = user;
  return { url: url.href, passwordFile: redisPasswordFile(keys, user) };
}

/** True when the instance runs a Redis of its own. */
export function hasOwnRedis(record: InstanceRecord): boolean {
  return record.processes.some(({ name }) => name === "redis");
}
