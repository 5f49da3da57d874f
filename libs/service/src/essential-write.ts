import type { Redis } from "./redis.ts";
import { fromRedis } from "./store-error.ts";

/**
 * The first line of a script that Redis executes above its maxmemory, too (Redis 7.0, `allow-oom`:
 * https://redis.io/docs/latest/develop/programmability/lua-api/#script-flags). It is for scripts that end, release or record work that was
 * begun, so that stops work and no result is lost while Redis is full. Scripts that begin work do not have it.
 */
export const ESSENTIAL = "#!lua flags=allow-oom\n";

const ONE_COMMAND = `${ESSENTIAL}
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
`;

/**
 * One command on one key, which Redis executes above its maxmemory, too. A transaction cannot be such a write. Rejects with StoreError.
 */
export function essentialWrite(
  redis: Redis,
  [command, key, ...args]: readonly [command: string, key: string, ...args: (string | number)[]],
): Promise<unknown> {
  return fromRedis(redis.eval(ONE_COMMAND, 1, key, command, ...args));
}
