import { AgentVersion } from "@switchyard/contracts/agent-store";
import type { Provenance } from "@switchyard/contracts/definition-store";
import { ScanReport } from "@switchyard/contracts/skill-scan";
import { SkillVersion } from "@switchyard/contracts/skill-store";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type { Superseded } from "./catalogue-commit.ts";
import type { Definition, Kind } from "./definition.ts";
import { jsonOf } from "./stored-values.ts";

/** Longer than a run command may wait in its stream, so that a pinned run always finds its version. */
const SUPERSEDED_TTL_SECONDS = 45 * 24 * 3_600;

/** Of one name. Above it the oldest that is not current goes, so that no client can fill Redis with versions. */
const MAX_VERSIONS = 50;

/** An agent's record has neither files nor a version beside its digest. */
const RECORDS = {
  skill: SkillVersion,
  agent: AgentVersion.transform((record) => ({ ...record, version: record.digest, files: [] })),
} as const;

/**
 * The versions of definitions: what they say, their files, where they came from, what the scanner said. Everything
 * of one name is in one slot, and each change is one transaction.
 */
export class VersionStore {
  readonly #redis: Redis;
  readonly #now: () => Date;

  constructor(redis: Redis, now: () => Date) {
    this.#redis = redis;
    this.#now = now;
  }

  async record(kind: Kind, name: string, version: string): Promise<SkillVersion | null> {
    const text = await fromRedis(this.#redis.hget(key(kind, name, "versions"), version));
    return text === null ? null : recordIn(kind, text);
  }

  /**
   * Writes a version before it becomes current, so that a listed one can always be read. What its first import said
   * of where it came from stays.
   */
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
  }

  /**
   * Writes what a current version says where that is not there as it should be. Reading is cheap: an import at
   * every change of one file looks at thousands of definitions, and each write waits for the disk.
   */
  async refresh({ kind, name, version, stored }: Definition): Promise<void> {
    const at = textKey(kind, name, version);
    const text = JSON.stringify(stored);
    if ((await fromRedis(this.#redis.get(at))) !== text) await fromRedis(this.#redis.set(at, text));
  }

  /** The newest first, without those whose content is gone. */
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

  /** Lets everything of a version go when no run can be pinned to it any more; one that nobody could use leads nowhere. */
  async retire({ what, name, version, digest, wasUsable }: Superseded): Promise<void> {
    const transaction = await this.#ending(
      { kind: what, name, version },
      this.#now().toISOString(),
    );
    for (const part of contentKeys(what, name, version))
      transaction.expire(part, SUPERSEDED_TTL_SECONDS);
    // Who knows it by the digest of its SKILL.md finds it until another version with that digest takes its place.
    if (wasUsable && digest !== version) {
      const pointer = JSON.stringify({ version });
      transaction.set(textKey(what, name, digest), pointer, "EX", SUPERSEDED_TTL_SECONDS);
    }
    await allFromRedis(transaction.exec());
  }

  /** A version that is current again stays. */
  async restore(kind: Kind, name: string, version: string): Promise<void> {
    const transaction = await this.#ending({ kind, name, version }, null);
    for (const part of contentKeys(kind, name, version)) transaction.persist(part);
    await allFromRedis(transaction.exec());
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

  /** Records whose content is gone, and the oldest beyond the cap. */
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

/** What a version says; or, under the digest of a SKILL.md, which version that is. */
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

/** Everything of a version beside its record. */
function contentKeys(kind: Kind, name: string, version: string): string[] {
  return [version, `files:${version}`, `report:${version}`].map((part) => key(kind, name, part));
}

function key(kind: Kind, name: string, part: string): string {
  return `yard:${kind}:{${name}}:${part}`;
}
