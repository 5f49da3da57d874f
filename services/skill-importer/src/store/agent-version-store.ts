import { AgentVersion } from "@switchyard/contracts/agent-store";
import type { Redis } from "@switchyard/service/redis";
import { MAX_VERSIONS, SUPERSEDED_TTL_SECONDS } from "./version-store.ts";

/**
 * Where the versions of an agent came from that clients sent. What a version says is in the catalogue store, under
 * its digest, and goes there by its time; this is its record.
 */
export class AgentVersionStore {
  readonly #redis: Redis;
  readonly #now: () => Date;

  constructor(redis: Redis, now: () => Date) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Writes the record of a version that becomes current; what its first import said of where it came from stays. */
  async save(name: string, record: AgentVersion): Promise<void> {
    const all = await this.list(name);
    const before = all.find(({ digest }) => digest === record.digest);
    const kept = before === undefined ? record : { ...record, provenance: before.provenance };
    await this.#redis.hset(keyOf(name), record.digest, JSON.stringify(kept));
    const others = all.filter(({ digest }) => digest !== record.digest);
    const tooMany = Math.max(0, others.length + 1 - MAX_VERSIONS);
    if (tooMany === 0) return;
    const oldest = others.filter(({ supersededAt }) => supersededAt !== null).slice(-tooMany);
    if (oldest.length > 0) {
      await this.#redis.hdel(keyOf(name), ...oldest.map(({ digest }) => digest));
    }
  }

  async record(name: string, digest: string): Promise<AgentVersion | null> {
    return (await this.list(name)).find((record) => record.digest === digest) ?? null;
  }

  /** The newest first, without those whose text is gone. */
  async list(name: string): Promise<AgentVersion[]> {
    const now = this.#now().getTime();
    return Object.values(await this.#redis.hgetall(keyOf(name)))
      .flatMap((text) => parsed(text) ?? [])
      .filter(
        ({ supersededAt }) =>
          supersededAt === null || now - Date.parse(supersededAt) <= SUPERSEDED_TTL_SECONDS * 1_000,
      )
      .toSorted((a, b) => (a.provenance.at < b.provenance.at ? 1 : -1));
  }

  /** Notes that a version is no longer current. */
  async retire(name: string, digest: string): Promise<void> {
    const record = await this.record(name, digest);
    if (record === null) return;
    const supersededAt = this.#now().toISOString();
    await this.#redis.hset(keyOf(name), digest, JSON.stringify({ ...record, supersededAt }));
  }
}

function parsed(text: string): AgentVersion | null {
  try {
    return AgentVersion.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // it counts as absent, and the next import writes it anew
  }
}

function keyOf(name: string): string {
  return `yard:agent:{${name}}:versions`;
}
