import type { Redis } from "@switchyard/service/redis";
import { ServerDeclaration } from "@switchyard/contracts/mcp";
import { z } from "zod";

/**
 * What was changed over the bus, kept in Redis. The servers of the file are not copied there: the
 * file is the truth about them, and a record of this store stands in the place of its entry.
 */
export interface RegistryStore {
  /** Rejects with RegistryStoreError, like the others. */
  load(): Promise<ReadonlyMap<string, RegistryRecord>>;
  write(id: string, record: RegistryRecord): Promise<void>;
  forget(ids: readonly string[]): Promise<void>;
}

/** A server as it was declared, references unresolved; or the mark that a server of the file was removed. */
const RegistryRecord = z.discriminatedUnion("state", [
  z.object({ state: z.literal("set"), declaration: ServerDeclaration, updatedAt: z.string() }),
  z.object({ state: z.literal("removed"), updatedAt: z.string() }),
]);
export type RegistryRecord = z.infer<typeof RegistryRecord>;

export class RegistryStoreError extends Error {
  override readonly name = "RegistryStoreError";
}

const KEY = "yard:{mcp}:servers";

export function createRegistryStore(redis: Redis): RegistryStore {
  return {
    async load() {
      const all = await asked(() => redis.hgetall(KEY));
      return new Map(Object.entries(all).map(([id, text]) => [id, parseRecord(id, text)]));
    },
    async write(id, record) {
      await asked(() => redis.hset(KEY, id, JSON.stringify(record)));
    },
    async forget(ids) {
      if (ids.length > 0) await asked(() => redis.hdel(KEY, ...ids));
    },
  };
}

function parseRecord(id: string, text: string): RegistryRecord {
  try {
    return RegistryRecord.parse(JSON.parse(text));
  } catch (error) {
    throw new RegistryStoreError(`field ${id} of ${KEY} is no record of a server`, {
      cause: error,
    });
  }
}

async function asked<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw new RegistryStoreError(`Redis did not answer: ${String(error)}`, { cause: error });
  }
}
