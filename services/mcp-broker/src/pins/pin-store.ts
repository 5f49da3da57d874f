import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { workSlices } from "../limits/work-slices.ts";
import { PinRecord } from "./pin-record.ts";

export interface StoredPins {
  readonly revision: string;
  /** The records by the server's own name of the tool. */
  readonly records: ReadonlyMap<string, PinRecord>;
}

interface PinCommit {
  readonly revision: string;
  readonly records: readonly PinRecord[];
  readonly definitions: readonly { readonly digest: string; readonly text: string }[];
  /** Definitions that no record names any more. */
  readonly dropped: readonly string[];
  /** Tools whose records are deleted. */
  readonly removed: readonly string[];
}

/** The channel on which every broker is notified which server's pins were written. */
export const PINS_CHANNEL = "yard:mcp:pins-written";

const REVISION = "revision";
const FIRST_REVISION = "0";

const COMMIT = `${ESSENTIAL}
if (redis.call("HGET", KEYS[1], "${REVISION}") or "${FIRST_REVISION}") ~= ARGV[1] then return 0 end
local at = 3
for _ = 1, tonumber(ARGV[at]) do
  redis.call("HSET", KEYS[1], ARGV[at + 1], ARGV[at + 2])
  at = at + 2
end
at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  redis.call("HSET", KEYS[2], ARGV[at + 1], ARGV[at + 2])
  at = at + 2
end
at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  redis.call("HDEL", KEYS[2], ARGV[at + 1])
  at = at + 1
end
at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  redis.call("HDEL", KEYS[1], ARGV[at + 1])
  at = at + 1
end
redis.call("HINCRBY", KEYS[1], "${REVISION}", 1)
redis.call("PUBLISH", "${PINS_CHANNEL}", ARGV[2])
return 1`;

export type PinStore = ReturnType<typeof createPinStore>;

/** The pins of all servers in Redis, written only by compare-and-set: several brokers see and approve. Rejects with StoreError. */
export function createPinStore(redis: Redis) {
  return {
    async load(server: string): Promise<StoredPins> {
      const fields = await fromRedis(redis.hgetall(pinsKey(server)));
      const records = new Map<string, PinRecord>();
      const slice = workSlices();
      for (const [field, text] of Object.entries(fields)) {
        if (field === REVISION) continue;
        await slice();
        const record = parseRecord(server, text);
        records.set(record.tool, record);
      }
      return { revision: fields[REVISION] ?? FIRST_REVISION, records };
    },
    /** The current revision of the pins; each commit changes it. */
    async revision(server: string): Promise<string> {
      return (await fromRedis(redis.hget(pinsKey(server), REVISION))) ?? FIRST_REVISION;
    },
    /** False when another writer has committed since `revision` was read; nothing is written then. */
    async commit(server: string, change: PinCommit): Promise<boolean> {
      const { revision, records, definitions, dropped, removed } = change;
      const args = [
        revision,
        server,
        records.length,
        ...records.flatMap((record) => [`t:${record.tool}`, JSON.stringify(record)]),
        definitions.length,
        ...definitions.flatMap(({ digest, text }) => [digest, text]),
        dropped.length,
        ...dropped,
        removed.length,
        ...removed.map((tool) => `t:${tool}`),
      ];
      const keys = [pinsKey(server), definitionsKey(server)];
      return (await fromRedis(redis.eval(COMMIT, 2, ...keys, ...args))) === 1;
    },
    /** The definitions with these digests, as canonical JSON of `{definition, identity}`. */
    async definitions(
      server: string,
      digests: readonly string[],
    ): Promise<readonly (string | null)[]> {
      if (digests.length === 0) return [];
      return fromRedis(redis.hmget(definitionsKey(server), ...digests));
    },
  };
}

function pinsKey(server: string): string {
  return `yard:{mcp:${server}}:pins`;
}

function definitionsKey(server: string): string {
  return `yard:{mcp:${server}}:pin-definitions`;
}

function parseRecord(server: string, text: string): PinRecord {
  try {
    return PinRecord.parse(JSON.parse(text));
  } catch (error) {
    throw new StoreError(`a field of ${pinsKey(server)} is not a pin`, { cause: error });
  }
}
