import { PolicyFiles } from "@switchyard/contracts/policy/policy-texts";
import { MAX_POLICY_VERSIONS, PolicyVersion } from "@switchyard/contracts/policy/policy-bundles";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { z } from "zod";
import type { PolicyTexts } from "@switchyard/rules/engine/validate";

/** A version with all data that is needed to bring it into force again. */
export const StoredVersion = PolicyVersion.extend({
  files: PolicyFiles,
  /** The version that this one restored; null for any other. */
  restores: z.int().positive().nullable(),
});
export type StoredVersion = z.infer<typeof StoredVersion>;

export interface Active {
  /** 0: none yet. */
  readonly version: number;
  /** False while the files on disk are followed. */
  readonly isPinned: boolean;
}

/** The newest version differs from the one that the change was meant for. */
export class VersionChanged extends Error {
  override readonly name = "VersionChanged";
}

/**
 * The bundles that were in force, and the active one, shared by all replicas. A version is written and activated in one step, so
 * no replica reads an active version that does not exist.
 */
export interface VersionStore {
  active(): Promise<Active>;
  /** The newest first. */
  list(): Promise<StoredVersion[]>;
  read(version: number): Promise<StoredVersion | null>;
  /** Makes it the newest version, and pins it. Rejects with VersionChanged when there is another one than `ifVersion`. */
  activate(version: Omit<StoredVersion, "version">, ifVersion?: string): Promise<StoredVersion>;
  /** Records the version that the files brought into force; null when it is recorded already, or a bundle is pinned. */
  noteFiles(version: Omit<StoredVersion, "version">): Promise<StoredVersion | null>;
  followFiles(ifVersion?: string): Promise<void>;
}

const VERSIONS = "yard:policy:{bundle}:versions";
const ACTIVE = "yard:policy:{bundle}:active";

/** KEYS: versions, active. ARGV: record without its number, digest, `pinned` or `files`, how many are stored, the version that it is for. */
const WRITE = `
local active = redis.call('HMGET', KEYS[2], 'version', 'pinned', 'digest')
if ARGV[5] ~= '' and ARGV[5] ~= (active[1] or '0') then return -1 end
if ARGV[3] == 'files' and (active[2] == '1' or active[3] == ARGV[2]) then return 0 end
local version = redis.call('HINCRBY', KEYS[2], 'last', 1)
redis.call('HSET', KEYS[1], version, ARGV[1])
redis.call('HDEL', KEYS[1], version - tonumber(ARGV[4]))
redis.call('HSET', KEYS[2], 'version', version, 'digest', ARGV[2], 'pinned', ARGV[3] == 'pinned' and '1' or '0')
return version
`;

/**
 * The digest is deleted, so that the current content of the files becomes a version of its own. KEYS: active. ARGV: the version
 * that it is for.
 */
const FOLLOW = `
if ARGV[1] ~= '' and ARGV[1] ~= (redis.call('HGET', KEYS[1], 'version') or '0') then return -1 end
redis.call('HSET', KEYS[1], 'pinned', '0')
redis.call('HDEL', KEYS[1], 'digest')
return 0
`;

export function createVersionStore(redis: Redis): VersionStore {
  const write = async (
    version: Omit<StoredVersion, "version">,
    { how, ifVersion = "" }: { how: "pinned" | "files"; ifVersion?: string | undefined },
  ): Promise<StoredVersion | null> => {
    const kept = String(MAX_POLICY_VERSIONS);
    const args = [JSON.stringify(version), version.policyDigest, how, kept, ifVersion];
    const written = await fromRedis(redis.eval(WRITE, 2, VERSIONS, ACTIVE, ...args));
    if (written === -1) throw new VersionChanged();
    return written === 0 ? null : { ...version, version: Number(written) };
  };
  const list = async (): Promise<StoredVersion[]> => {
    const stored = await fromRedis(redis.hgetall(VERSIONS));
    return Object.entries(stored)
      .map(([version, text]) => parsed(version, text))
      .toSorted((a, b) => b.version - a.version);
  };
  return {
    async active() {
      const [version, pinned] = await fromRedis(redis.hmget(ACTIVE, "version", "pinned"));
      return { version: Number(version ?? 0), isPinned: pinned === "1" };
    },
    list,
    async read(version) {
      const text = await fromRedis(redis.hget(VERSIONS, String(version)));
      return text === null ? null : parsed(String(version), text);
    },
    async activate(version, ifVersion) {
      const written = await write(version, { how: "pinned", ifVersion });
      if (written === null) throw new StoreError("the version was not written");
      return written;
    },
    noteFiles: (version) => write(version, { how: "files" }),
    async followFiles(ifVersion = "") {
      const done = await fromRedis(redis.eval(FOLLOW, 1, ACTIVE, ifVersion));
      if (done === -1) throw new VersionChanged();
    },
  };
}

/** The files of texts, in one list. */
export function filesOf({ files, tests }: PolicyTexts): StoredVersion["files"] {
  return [...files, ...tests];
}

function parsed(version: string, text: string): StoredVersion {
  const record: unknown = JSON.parse(text);
  const known = StoredVersion.safeParse({ ...Object(record), version: Number(version) });
  if (known.success) return known.data;
  throw new StoreError(`version ${version} of the policy cannot be read from Redis`);
}
