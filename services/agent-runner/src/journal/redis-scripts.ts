import type { Redis } from "@switchyard/service/redis";

/** Redis did not do what it was asked; whether a write happened is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

type Argument = string | number;
type Script = (keyCount: number, ...args: Argument[]) => Promise<string[]>;

/** Teaches a client some scripts, by name, and gives the one function that runs them. */
export function defineScripts<S extends Record<string, string>>(redis: Redis, scripts: S) {
  for (const [name, lua] of Object.entries(scripts)) redis.defineCommand(name, { lua });
  // defineCommand adds the scripts as methods, which the client's type cannot know.
  const methods = redis as unknown as Record<keyof S, Script>;
  return (name: keyof S, keys: string[], args: Argument[]): Promise<string[]> =>
    reach(methods[name](keys.length, ...keys, ...args));
}

/** Gives every failure of the Redis client one name, so that an outage is not taken for a fault. */
export async function reach<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`Redis did not answer as it should: ${reason}`, { cause: error });
  }
}
