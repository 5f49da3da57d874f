import { z } from "zod";
import type { TrustRecord, WithheldEntry } from "./admission.ts";
import type { CataloguePlan } from "./catalogue-plan.ts";
import { AgentEntry, IMPORTED_ROOT, SkillEntry } from "./definition.ts";

type Kind = "skill" | "agent";

/** A version that nothing names any more. It is told to nobody; its time begins to run. */
export const Superseded = z.object({
  kind: z.literal("superseded"),
  what: z.enum(["skill", "agent"]),
  name: z.string(),
  version: z.string(),
  /** Of the SKILL.md or the agent file. */
  digest: z.string(),
  /** False for one that waited for somebody's trust: no run can be pinned to it. */
  wasUsable: z.boolean(),
});
export type Superseded = z.infer<typeof Superseded>;

/** What was committed and has yet to be done: mostly events to be published. */
export const Announcement = z.discriminatedUnion("kind", [
  Superseded,
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("skill"),
    summary: SkillEntry.shape.summary,
    dependenciesMet: z.boolean().nullable().optional(),
  }),
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("agent"),
    summary: AgentEntry.shape.summary,
  }),
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("skill-removed"),
    name: z.string(),
    version: z.string().nullable(),
  }),
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("agent-removed"),
    name: z.string(),
    digest: z.string().nullable(),
  }),
  z.object({
    id: z.string(),
    at: z.string(),
    kind: z.literal("import"),
    label: z.string(),
    by: z.string(),
    imported: z.int(),
    failed: z.int(),
    totalScanned: z.int(),
  }),
]);
export type Announcement = z.infer<typeof Announcement>;

export interface CatalogueChange {
  readonly skills: CataloguePlan<SkillEntry["summary"]>;
  readonly agents: CataloguePlan<AgentEntry["summary"]>;
  readonly announcements: readonly Announcement[];
  /** Of what clients sent: versions that become current, and names that go. */
  readonly imported?: { readonly set: readonly SkillEntry[]; readonly remove: readonly string[] };
  /** The same for agents. */
  readonly importedAgents?: {
    readonly set: readonly AgentEntry[];
    readonly remove: readonly string[];
  };
  readonly withheld?: {
    readonly set: readonly WithheldEntry[];
    readonly remove: readonly WithheldEntry[];
  };
  readonly trust?: TrustRecord;
}

// One hash tag: they change together.
export const REVISION = "yard:{catalogue}:revision";
export const CURRENT = {
  skill: "yard:{catalogue}:skills",
  agent: "yard:{catalogue}:agents",
} as const;
export const OUTBOX = "yard:{catalogue}:outbox";
export const IMPORTED = "yard:{catalogue}:imported";
export const IMPORTED_AGENTS = "yard:{catalogue}:imported-agents";
export const WITHHELD = "yard:{catalogue}:withheld";
export const TRUST = "yard:{catalogue}:trust";
/** What a commit may write. */
export const COMMIT_KEYS = [
  REVISION,
  CURRENT.skill,
  CURRENT.agent,
  OUTBOX,
  IMPORTED,
  WITHHELD,
  TRUST,
  IMPORTED_AGENTS,
] as const;

/**
 * KEYS: as above. ARGV: the revision that the change was planned against,
 * then triples of operation, field and value. Returns 0 and changes nothing when somebody was faster.
 */
export const COMMIT = `
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 3 do
  local operation, field, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if operation == 'set-skill' then redis.call('HSET', KEYS[2], field, value)
  elseif operation == 'set-agent' then redis.call('HSET', KEYS[3], field, value)
  elseif operation == 'remove-skill' then redis.call('HDEL', KEYS[2], field)
  elseif operation == 'remove-agent' then redis.call('HDEL', KEYS[3], field)
  elseif operation == 'announce' then redis.call('RPUSH', KEYS[4], value)
  elseif operation == 'set-imported' then redis.call('HSET', KEYS[5], field, value)
  elseif operation == 'remove-imported' then redis.call('HDEL', KEYS[5], field)
  elseif operation == 'set-withheld' then redis.call('HSET', KEYS[6], field, value)
  elseif operation == 'remove-withheld' then redis.call('HDEL', KEYS[6], field)
  elseif operation == 'set-trust' then redis.call('HSET', KEYS[7], field, value)
  elseif operation == 'set-imported-agent' then redis.call('HSET', KEYS[8], field, value)
  elseif operation == 'remove-imported-agent' then redis.call('HDEL', KEYS[8], field)
  else return redis.error_reply('unknown operation ' .. operation) end
end
redis.call('INCR', KEYS[1])
return 1
`;

/** Triples of operation, field and value for {@link COMMIT}. */
export function commitOperations(change: CatalogueChange): string[] {
  return [
    ...operationsOf("skill", change.skills),
    ...operationsOf("agent", change.agents),
    ...importOperations(change),
    ...change.announcements.flatMap((item) => ["announce", "", JSON.stringify(item)]),
  ];
}

function operationsOf(kind: Kind, plan: CataloguePlan<{ name: string; digest: string }>): string[] {
  return [
    ...plan.set.flatMap((entry) => [`set-${kind}`, entry.summary.name, JSON.stringify(entry)]),
    ...plan.remove.flatMap((name) => [`remove-${kind}`, name, ""]),
  ];
}

function importOperations({
  imported,
  importedAgents,
  withheld,
  trust,
}: CatalogueChange): string[] {
  return [
    ...sentOperations("imported", imported),
    ...sentOperations("imported-agent", importedAgents),
    ...(withheld?.remove ?? []).flatMap((item) => ["remove-withheld", withheldField(item), ""]),
    ...(withheld?.set ?? []).flatMap((item) => [
      "set-withheld",
      withheldField(item),
      JSON.stringify(item),
    ]),
    ...(trust === undefined
      ? []
      : [
          "set-trust",
          JSON.stringify([trust.kind, trust.name, trust.version, trust.root, trust.file]),
          JSON.stringify(trust),
        ]),
  ];
}

function sentOperations(
  what: "imported" | "imported-agent",
  change: CatalogueChange["imported"] | CatalogueChange["importedAgents"],
): string[] {
  return [
    ...(change?.set ?? []).flatMap((entry) => [
      `set-${what}`,
      entry.summary.name,
      JSON.stringify(entry),
    ]),
    ...(change?.remove ?? []).flatMap((name) => [`remove-${what}`, name, ""]),
  ];
}

/** One for each place; whatever a client sends has one place. */
export function withheldField({ kind, entry }: WithheldEntry): string {
  const file = entry.root === IMPORTED_ROOT ? "" : entry.file;
  return JSON.stringify([kind, entry.summary.name, entry.root, file]);
}
