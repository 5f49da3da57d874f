import type { Redis } from "@switchyard/service/redis";
import { z } from "zod";
import { AgentEntry, SkillEntry, StoredAgent, StoredSkill } from "./definition.ts";
import type { CataloguePlan } from "./catalogue-plan.ts";

/**
 * The catalogue in Redis. What is listed (`current`) changes in one step, guarded by a revision, so
 * that two importers never mix their results. Every version that was ever listed stays readable by
 * its digest; once it is no longer current, for {@link SUPERSEDED_TTL_SECONDS}.
 */
export interface Catalogue {
  readonly revision: string;
  readonly skills: readonly SkillEntry[];
  readonly agents: readonly AgentEntry[];
}

/** A change that was committed but that nobody was told about yet. */
export const Announcement = z.discriminatedUnion("kind", [
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("skill"),
    summary: SkillEntry.shape.summary,
  }),
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("agent"),
    summary: AgentEntry.shape.summary,
  }),
]);
export type Announcement = z.infer<typeof Announcement>;

export interface CatalogueChange {
  readonly skills: CataloguePlan<SkillEntry["summary"]>;
  readonly agents: CataloguePlan<AgentEntry["summary"]>;
  readonly announcements: readonly Announcement[];
}

type Kind = "skill" | "agent";

/** Longer than a run command may wait in its stream, so that a pinned run always finds its version. */
const SUPERSEDED_TTL_SECONDS = 45 * 24 * 3_600;

// One hash tag: they change together.
const REVISION = "yard:{catalogue}:revision";
const CURRENT = { skill: "yard:{catalogue}:skills", agent: "yard:{catalogue}:agents" } as const;
const OUTBOX = "yard:{catalogue}:outbox";

/**
 * KEYS: revision, skills, agents, outbox. ARGV: the revision that the change was planned against,
 * then triples of operation, field and value. Returns 0 and changes nothing when somebody was faster.
 */
const COMMIT = `
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 3 do
  local operation, field, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if operation == 'set-skill' then redis.call('HSET', KEYS[2], field, value)
  elseif operation == 'set-agent' then redis.call('HSET', KEYS[3], field, value)
  elseif operation == 'remove-skill' then redis.call('HDEL', KEYS[2], field)
  elseif operation == 'remove-agent' then redis.call('HDEL', KEYS[3], field)
  elseif operation == 'announce' then redis.call('RPUSH', KEYS[4], value)
  else return redis.error_reply('unknown operation ' .. operation) end
end
redis.call('INCR', KEYS[1])
return 1
`;

export class CatalogueStore {
  readonly #redis: Redis;
  readonly #onCorrupt: (key: string) => void;

  /** `onCorrupt` hears of every stored value that cannot be read; it counts as absent. */
  constructor(redis: Redis, onCorrupt: (key: string) => void) {
    this.#redis = redis;
    this.#onCorrupt = onCorrupt;
  }

  async load(): Promise<Catalogue> {
    const answers = await this.#redis
      .multi()
      .get(REVISION)
      .hgetall(CURRENT.skill)
      .hgetall(CURRENT.agent)
      .exec();
    const [revision, skills, agents] = (answers ?? []).map(([error, value]) => {
      if (error !== null) throw error;
      return value;
    });
    return {
      revision: typeof revision === "string" ? revision : "0",
      skills: this.#entries(SkillEntry, CURRENT.skill, skills),
      agents: this.#entries(AgentEntry, CURRENT.agent, agents),
    };
  }

  /** False: the catalogue changed since `revision` was loaded, and nothing was written. */
  async commit(revision: string, change: CatalogueChange): Promise<boolean> {
    const operations = [
      ...operationsOf("skill", change.skills),
      ...operationsOf("agent", change.agents),
      ...change.announcements.flatMap((item) => ["announce", "", JSON.stringify(item)]),
    ];
    if (operations.length === 0) return true;
    const keys = [REVISION, CURRENT.skill, CURRENT.agent, OUTBOX];
    const done = await this.#redis.eval(COMMIT, keys.length, ...keys, revision, ...operations);
    return done === 1;
  }

  async listSkills(): Promise<SkillEntry[]> {
    return this.#entries(SkillEntry, CURRENT.skill, await this.#redis.hgetall(CURRENT.skill));
  }

  async listAgents(): Promise<AgentEntry[]> {
    return this.#entries(AgentEntry, CURRENT.agent, await this.#redis.hgetall(CURRENT.agent));
  }

  /** Without a digest the current version. Null when there is none. */
  async readSkill(name: string, digest: string | undefined): Promise<StoredSkill | null> {
    return this.#read(StoredSkill, { kind: "skill", name, digest });
  }

  /** Without a digest the current version. Null when there is none. */
  async readAgent(name: string, digest: string | undefined): Promise<StoredAgent | null> {
    return this.#read(StoredAgent, { kind: "agent", name, digest });
  }

  /** Versions are written before they become current, so that a listed one can always be read. */
  async saveSkill(stored: StoredSkill): Promise<void> {
    const { name, digest } = stored.skill;
    await this.#redis.set(versionKey("skill", name, digest), JSON.stringify(stored));
  }

  async saveAgent(stored: StoredAgent): Promise<void> {
    await this.#redis.set(versionKey("agent", stored.name, stored.digest), JSON.stringify(stored));
  }

  /** Lets a version that is no longer current go when no run can be pinned to it any more. */
  async retire(kind: Kind, name: string, digest: string): Promise<void> {
    await this.#redis.expire(versionKey(kind, name, digest), SUPERSEDED_TTL_SECONDS);
  }

  /** The oldest announcement, or null; `raw` is what {@link settleAnnouncement} wants back. */
  async nextAnnouncement(): Promise<{ announcement: Announcement | null; raw: string } | null> {
    const raw = await this.#redis.lindex(OUTBOX, 0);
    if (raw === null) return null;
    return { announcement: this.#parse(Announcement, OUTBOX, raw), raw };
  }

  async settleAnnouncement(raw: string): Promise<void> {
    await this.#redis.lrem(OUTBOX, 1, raw);
  }

  async #read<T extends z.ZodType>(
    schema: T,
    version: { kind: Kind; name: string; digest: string | undefined },
  ): Promise<z.output<T> | null> {
    const { kind, name } = version;
    const digest = version.digest ?? (await this.#currentDigest(kind, name));
    if (digest === null) return null;
    const key = versionKey(kind, name, digest);
    const text = await this.#redis.get(key);
    return text === null ? null : this.#parse(schema, key, text);
  }

  async #currentDigest(kind: Kind, name: string): Promise<string | null> {
    const text = await this.#redis.hget(CURRENT[kind], name);
    if (text === null) return null;
    const schema = kind === "skill" ? SkillEntry : AgentEntry;
    return this.#parse(schema, `${CURRENT[kind]} ${name}`, text)?.summary.digest ?? null;
  }

  #entries<T extends z.ZodType<{ summary: { name: string } }>>(
    schema: T,
    key: string,
    hash: unknown,
  ): z.output<T>[] {
    const entries = Object.entries(hash as Record<string, string>) // HGETALL's reply
      .map(([name, text]) => this.#parse(schema, `${key} ${name}`, text))
      .filter((entry) => entry !== null);
    return entries.toSorted((a, b) => (a.summary.name < b.summary.name ? -1 : 1));
  }

  #parse<T extends z.ZodType>(schema: T, key: string, text: string): z.output<T> | null {
    const parsed = schema.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data;
    this.#onCorrupt(key);
    return null;
  }
}

function operationsOf(kind: Kind, plan: CataloguePlan<{ name: string; digest: string }>): string[] {
  return [
    ...plan.set.flatMap((entry) => [`set-${kind}`, entry.summary.name, JSON.stringify(entry)]),
    ...plan.remove.flatMap((name) => [`remove-${kind}`, name, ""]),
  ];
}

function versionKey(kind: Kind, name: string, digest: string): string {
  return `yard:${kind}:{${name}}:${digest}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // no schema accepts it
  }
}
