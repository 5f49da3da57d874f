import { AgentVersion } from "@switchyard/contracts/agent-store";
import { ScanReport } from "@switchyard/contracts/skill-scan";
import type { Redis } from "@switchyard/service/redis";
import { done, MAX_VERSIONS, SUPERSEDED_TTL_SECONDS } from "./version-store.ts";

/**
 * Where the versions of agents came from, and what the scanner said. What a version says is in the catalogue store,
 * under its digest, and goes there by its time; this is its record.
 */
export class AgentVersionStore {
  readonly #redis: Redis;
  readonly #now: () => Date;

  constructor(redis: Redis, now: () => Date) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Writes the record of a version that becomes current; what its first import said of where it came from stays. */
  async save(name: string, record: AgentVersion, report: ScanReport | null): Promise<void> {
    const { digest } = record;
    const all = await this.list(name);
    const before = all.find((one) => one.digest === digest);
    const isKnown = before?.supersededAt === null;
    if (isKnown && before.verdict?.scanner === record.verdict?.scanner) return;
    const kept = before === undefined ? record : { ...record, provenance: before.provenance };
    const transaction = this.#redis.multi();
    transaction.hset(versionsKey(name), digest, JSON.stringify(kept));
    if (report === null) transaction.del(reportKey(name, digest));
    else transaction.set(reportKey(name, digest), JSON.stringify(report));
    for (const old of surplus(all, digest)) {
      transaction.hdel(versionsKey(name), old.digest);
      transaction.del(reportKey(name, old.digest));
    }
    await done(transaction.exec());
  }

  async record(name: string, digest: string): Promise<AgentVersion | null> {
    return (await this.list(name)).find((record) => record.digest === digest) ?? null;
  }

  async report(name: string, digest: string): Promise<ScanReport | null> {
    const text = await this.#redis.get(reportKey(name, digest));
    return text === null ? null : (ScanReport.safeParse(JSON.parse(text)).data ?? null);
  }

  /** The newest first, without those whose text is gone. */
  async list(name: string): Promise<AgentVersion[]> {
    const now = this.#now().getTime();
    return Object.values(await this.#redis.hgetall(versionsKey(name)))
      .flatMap((text) => parsed(text) ?? [])
      .filter(
        ({ supersededAt }) =>
          supersededAt === null || now - Date.parse(supersededAt) <= SUPERSEDED_TTL_SECONDS * 1_000,
      )
      .toSorted((a, b) => (a.provenance.at < b.provenance.at ? 1 : -1));
  }

  /** Notes that a version is no longer current. */
  async retire(name: string, digest: string): Promise<void> {
    await this.#setSuperseded(name, digest, this.#now().toISOString());
  }

  /** A version that is current again stays. */
  async restore(name: string, digest: string): Promise<void> {
    await this.#setSuperseded(name, digest, null);
  }

  async #setSuperseded(name: string, digest: string, supersededAt: string | null): Promise<void> {
    const record = await this.record(name, digest);
    if (record === null) return;
    const transaction = this.#redis.multi();
    transaction.hset(versionsKey(name), digest, JSON.stringify({ ...record, supersededAt }));
    const report = reportKey(name, digest);
    if (supersededAt === null) transaction.persist(report);
    else transaction.expire(report, SUPERSEDED_TTL_SECONDS);
    await done(transaction.exec());
  }
}

/** The oldest beyond the cap that are not current. */
function surplus(all: readonly AgentVersion[], incoming: string): AgentVersion[] {
  const others = all.filter(({ digest }) => digest !== incoming);
  const tooMany = Math.max(0, others.length + 1 - MAX_VERSIONS);
  const superseded = others.filter(({ supersededAt }) => supersededAt !== null);
  return tooMany === 0 ? [] : superseded.slice(-tooMany);
}

function parsed(text: string): AgentVersion | null {
  try {
    return AgentVersion.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // it counts as absent, and the next import writes it anew
  }
}

function versionsKey(name: string): string {
  return `yard:agent:{${name}}:versions`;
}

function reportKey(name: string, digest: string): string {
  return `yard:agent:{${name}}:report:${digest}`;
}
