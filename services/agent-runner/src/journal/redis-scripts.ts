import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

type Argument = string | number | Buffer;
type Script = (keyCount: number, ...args: Argument[]) => Promise<string[]>;

/** Defines scripts on a client, by name, and returns the one function that runs them. */
export function defineScripts<S extends Record<string, string>>(redis: Redis, scripts: S) {
  for (const [name, lua] of Object.entries(scripts)) redis.defineCommand(name, { lua });
  // defineCommand adds the scripts as methods, which the client's type does not contain.
  const methods = redis as unknown as Record<keyof S, Script>;
  return (name: keyof S, keys: string[], args: Argument[]): Promise<string[]> =>
    fromRedis(methods[name](keys.length, ...keys, ...args));
}
