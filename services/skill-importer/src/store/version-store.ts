import { AgentVersion } from "@switchyard/contracts/skill-importer/agent-store";
import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import { ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";
import { SkillVersion } from "@switchyard/contracts/skill-importer/skill-store";
import type { Holding, OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type { Superseded } from "./catalogue-commit.ts";
import { Kind, type Definition } from "@switchyard/skills/catalogue/definition";
import { jsonOf } from "./stored-values.ts";

/** Longer than a run command may wait in its stream, so that a pinned run always finds its version. */
const SUPERSEDED_TTL_SECONDS = 45 * 24 * 3_600;

/** The limit for one name. Above it the oldest superseded version is removed, so that no client can fill Redis with versions. */
const MAX_VERSIONS = 50;

/** Estimates its entries in the catalogue, its keys and the overhead of Redis. */
const VERSION_BYTES = 4_096;

/** The bytes of a version and the milliseconds until it is deleted, -1 for none. KEYS records of the name · text · files · report, ARGV version */
const WEIGH = `
local bytes = 0
for _, text in ipairs({redis.call('HGET', KEYS[1], ARGV[1]), redis.call('GET', KEYS[2]), redis.call('GET', KEYS[4])}) do
  if text then bytes = bytes + #text end
end
for _, path in ipairs(redis.call('HKEYS', KEYS[3])) do bytes = bytes + #path + redis.call('HSTRLEN', KEYS[3], path) end
return {redis.call('EXISTS', KEYS[2]) == 1 and bytes + ${VERSION_BYTES} or 0, redis.call('PTTL', KEYS[2])}
`;

/** An agent's record has neither files nor a version beside its digest. */
const RECORDS = {
  skill: SkillVersion,
  agent: AgentVersion.transform((record) => ({ ...record, version: record.digest, files: [] })),
} as const;

/**
 * The versions of definitions: their content, their files, their sources, the scanner's reports. All keys of one name are in one
 * slot, and each change is one transaction.
 */
export class VersionStore {
  readonly #redis: Redis;
  readonly #now: () => Date;
  readonly #storage: Pick<OwnerStorage, "set">;

  /** Versions are counted for the user that sent them; `storage` counts them. */
  constructor(redis: Redis, now: () => Date, storage: Pick<OwnerStorage, "set">) {
    this.#redis = redis;
    this.#now = now;
    this.#storage = storage;
  }

  async record(kind: Kind, name: string, version: string): Promise<SkillVersion | null> {
    const text = await fromRedis(this.#redis.hget(key(kind, name, "versions"), version));
    return text === null ? null : recordIn(kind, text);
  }

  /** Writes a version before it becomes current, so that a listed one can always be read. The provenance from its first import stays. */
  async save(definition: Definition, provenance: Provenance): Promise<void> {
    const { kind, name, version, stored, files, facts, report } = definition;
    const { digest } = definition.entry.summary;
    await fromRedis(this.#redis.set(textKey(kind, name, version), JSON.stringify(stored)));
    const all = await this.#all(kind, name);
    const before = all.find((other) => other.version === version && !this.#isGone(other));
    const verdict = report === null ? null : { scanner: report.scanner, verdict: report.verdict };
    if (before?.supersededAt === null && before.verdict?.scanner === verdict?.scanner) return;
    const from = before?.provenance ?? provenance;
    const record = { version, digest, provenance: from, verdict, files: [...facts] };
    const transaction = this.#redis.multi();
    transaction.hset(
      key(kind, name, "versions"),
      version,
      recordText(kind, { ...record, supersededAt: null }),
    );
    const filesKey = key(kind, name, `files:${version}`);
    transaction.del(filesKey);
    if (kind === "skill" && files.size > 0) {
      const fields = [...files].map(([path, bytes]) => [path, Buffer.from(bytes)] as const);
      transaction.hset(filesKey, new Map(fields));
    }
    const reportKey = key(kind, name, `report:${version}`);
    if (report === null) transaction.del(reportKey);
    else transaction.set(reportKey, JSON.stringify(report));
    for (const old of this.#surplus(all, version)) {
      transaction.hdel(key(kind, name, "versions"), old.version);
      transaction.del(...contentKeys(kind, name, old.version));
    }
    await allFromRedis(transaction.exec());
    for (const old of this.#surplus(all, version)) this.#set(kind, name, old, NOTHING);
    await this.#count(kind, name, version);
  }

  /**
   * Writes the content of a current version where the stored one is missing or differs. Reading is cheap: an import at every
   * change of one file checks thousands of definitions, and each write waits for the disk.
   */
  async refresh({ kind, name, version, stored }: Definition): Promise<void> {
    const at = textKey(kind, name, version);
    const text = JSON.stringify(stored);
    if ((await fromRedis(this.#redis.get(at))) !== text) await fromRedis(this.#redis.set(at, text));
  }

  /** Returns the versions, newest first, without those whose content has expired. */
  async list(kind: Kind, name: string): Promise<SkillVersion[]> {
    return (await this.#all(kind, name)).filter((record) => !this.#isGone(record));
  }

  async report(kind: Kind, name: string, version: string): Promise<ScanReport | null> {
    const text = await fromRedis(this.#redis.get(key(kind, name, `report:${version}`)));
    return text === null ? null : (ScanReport.safeParse(jsonOf(text)).data ?? null);
  }

  async file(name: string, version: string, path: string): Promise<Uint8Array | null> {
    return fromRedis(this.#redis.hgetBuffer(key("skill", name, `files:${version}`), path));
  }

  /** Expires all data of a version when no run can be pinned to it any more; a version that was never usable gets no pointer from its digest. */
  async retire({ what, name, version, digest, wasUsable }: Superseded): Promise<void> {
    const transaction = await this.#ending(
      { kind: what, name, version },
      this.#now().toISOString(),
    );
    for (const part of contentKeys(what, name, version))
      transaction.expire(part, SUPERSEDED_TTL_SECONDS);
    // The digest of its SKILL.md resolves to it until another version with that digest replaces it.
    if (wasUsable && digest !== version) {
      const pointer = JSON.stringify({ version });
      transaction.set(textKey(what, name, digest), pointer, "EX", SUPERSEDED_TTL_SECONDS);
    }
    await allFromRedis(transaction.exec());
    await this.#count(what, name, version);
  }

  /** A version that is current again stays. */
  async restore(kind: Kind, name: string, version: string): Promise<void> {
    const transaction = await this.#ending({ kind, name, version }, null);
    for (const part of contentKeys(kind, name, version)) transaction.persist(part);
    await allFromRedis(transaction.exec());
    await this.#count(kind, name, version);
  }

  /**
   * Returns the bytes of a version that `owner` sent. Null: it is deleted, or belongs to another owner, or the thing is of
   * another kind. Rejects with StoreError.
   */
  async holding(owner: string, thing: string): Promise<Holding | null> {
    const [kind, name, version] = thing.split("/");
    if (!isKind(kind) || name === undefined || version === undefined) return null;
    const record = await this.record(kind, name, version);
    if (record === null || ownerOf(record) !== owner) return null;
    const keys = [key(kind, name, "versions"), ...contentKeys(kind, name, version)];
    const weighed = fromRedis(this.#redis.eval(WEIGH, keys.length, ...keys, version));
    const [bytes, leftMs] = (await weighed) as [number, number]; // as the script returns
    if (bytes === 0) return null;
    return { bytes, ends: leftMs < 0 ? null : this.#now().getTime() + leftMs };
  }

  async #count(kind: Kind, name: string, version: string): Promise<void> {
    const record = await this.record(kind, name, version);
    const owner = record === null ? null : ownerOf(record);
    if (record === null || owner === null) return;
    const holding = await this.holding(owner, versionThing({ kind, name, version }));
    this.#set(kind, name, record, holding ?? NOTHING);
  }

  // oxlint-disable-next-line max-params -- which version, and its size
  #set(kind: Kind, name: string, record: SkillVersion, holding: Holding): void {
    const owner = ownerOf(record);
    const { version } = record;
    if (owner !== null) this.#storage.set(owner, versionThing({ kind, name, version }), holding);
  }

  /** A transaction that begins with when the version ends. */
  async #ending(
    { kind, name, version }: { kind: Kind; name: string; version: string },
    supersededAt: string | null,
  ) {
    const record = await this.record(kind, name, version);
    const transaction = this.#redis.multi();
    if (record === null) return transaction;
    const text = recordText(kind, { ...record, supersededAt });
    return transaction.hset(key(kind, name, "versions"), version, text);
  }

  async #all(kind: Kind, name: string): Promise<SkillVersion[]> {
    return Object.values(await fromRedis(this.#redis.hgetall(key(kind, name, "versions"))))
      .flatMap((text) => recordIn(kind, text) ?? [])
      .toSorted((a, b) => (a.provenance.at < b.provenance.at ? 1 : -1));
  }

  /** Returns records whose content has expired, and the oldest beyond the limit. */
  #surplus(all: readonly SkillVersion[], incoming: string): SkillVersion[] {
    const others = all.filter(({ version }) => version !== incoming);
    const superseded = others.filter(({ supersededAt }) => supersededAt !== null);
    const gone = superseded.filter((one) => this.#isGone(one));
    const left = superseded.filter((one) => !this.#isGone(one));
    const tooMany = others.length - gone.length + 1 - MAX_VERSIONS;
    return [...gone, ...(tooMany > 0 ? left.slice(-tooMany) : [])];
  }

  #isGone({ supersededAt }: SkillVersion): boolean {
    if (supersededAt === null) return false;
    return this.#now().getTime() - Date.parse(supersededAt) > SUPERSEDED_TTL_SECONDS * 1_000;
  }
}

const NOTHING: Holding = { bytes: 0, ends: null };

/** The name under which a version is counted for its owner. */
export function versionThing(of: Pick<Definition, "kind" | "name" | "version">): string {
  return `${of.kind}/${of.name}/${of.version}`;
}

/** About the bytes of a version that is not stored yet. */
export function versionBytes({ stored, files, report }: Definition): number {
  const texts = [stored, report].map((one) => Buffer.byteLength(JSON.stringify(one)));
  const contents = [...files].map(([path, { length }]) => path.length + length);
  return [...texts, ...contents].reduce((sum, bytes) => sum + bytes, VERSION_BYTES);
}

/** Returns the user whose storage quota a version counts towards; null for one of the importer's own directories. */
function ownerOf({ provenance: { source, by } }: SkillVersion): string | null {
  return source === "root" ? null : by;
}

function isKind(text: string | undefined): text is Kind {
  return Kind.options.some((kind) => kind === text);
}

/** Returns the key of a version's content; or, for the digest of a SKILL.md, of the pointer to its version. */
export function textKey(kind: Kind, name: string, version: string): string {
  return key(kind, name, version);
}

/** Null counts as absent: the next import writes it anew. */
function recordIn(kind: Kind, text: string): SkillVersion | null {
  return RECORDS[kind].safeParse(jsonOf(text)).data ?? null;
}

function recordText(kind: Kind, record: SkillVersion): string {
  return JSON.stringify(kind === "agent" ? AgentVersion.parse(record) : record);
}

/** Returns all keys of a version beside its record. */
function contentKeys(kind: Kind, name: string, version: string): string[] {
  return [version, `files:${version}`, `report:${version}`].map((part) => key(kind, name, part));
}

function key(kind: Kind, name: string, part: string): string {
  return `yard:${kind}:{${name}}:${part}`;
}
