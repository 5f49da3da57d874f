import { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { CatalogueChange } from "@switchyard/skills/catalogue/catalogue";
import { z } from "zod";
import { IMPORTED_ROOT, Kind, type WithheldEntry } from "@switchyard/skills/catalogue/definition";

/** A version that no entry names any more. It causes no event; its 45 days begin. */
const Superseded = z.object({
  kind: z.literal("superseded"),
  what: Kind,
  name: z.string(),
  version: z.string(),
  /** The digest of the SKILL.md or the agent file. */
  digest: z.string(),
  /** False for a version that waited for trust: no run can be pinned to it. */
  wasUsable: z.boolean(),
});
export type Superseded = z.infer<typeof Superseded>;

const event = { id: z.string(), at: z.string() };

/** Work that follows a commit: mostly events to be published. */
export const Announcement = z.discriminatedUnion("kind", [
  Superseded,
  z.object({
    ...event,
    kind: z.literal("skill"),
    summary: SkillSummary,
    dependenciesMet: z.boolean().nullable().optional(),
    /** The unmet requirements; missing in announcements of older versions. */
    warnings: z.array(z.string()).optional(),
  }),
  z.object({ ...event, kind: z.literal("agent"), summary: AgentSummary }),
  z.object({
    ...event,
    kind: z.literal("skill-removed"),
    name: z.string(),
    version: z.string().nullable(),
  }),
  z.object({
    ...event,
    kind: z.literal("agent-removed"),
    name: z.string(),
    digest: z.string().nullable(),
  }),
  z.object({
    ...event,
    kind: z.literal("import"),
    label: z.string(),
    /** NATS user. */
    by: z.string(),
    imported: z.int(),
    failed: z.int(),
    totalScanned: z.int(),
  }),
]);
export type Announcement = z.infer<typeof Announcement>;

// All keys have one hash tag, because they change together.
export const REVISION = "yard:{catalogue}:revision";
export const LISTED = {
  skill: "yard:{catalogue}:skills",
  agent: "yard:{catalogue}:agents",
} as const;
export const IMPORTED = {
  skill: "yard:{catalogue}:imported",
  agent: "yard:{catalogue}:imported-agents",
} as const;
export const OUTBOX = "yard:{catalogue}:outbox";
export const WITHHELD = "yard:{catalogue}:withheld";
export const TRUST = "yard:{catalogue}:trust";
/** The keys that a commit may write. */
const COMMIT_KEYS: readonly string[] = [
  REVISION,
  OUTBOX,
  WITHHELD,
  TRUST,
  ...Object.values(LISTED),
  ...Object.values(IMPORTED),
];

/**
 * KEYS: as above. ARGV: the revision that the change was planned against, then groups of command, number of the key, field and
 * value. It also runs when Redis is full, so that definitions can be removed: a new one is refused before, when its text is
 * written. Returns 0 and changes nothing when another importer was faster.
 */
const COMMIT = `${ESSENTIAL}
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 4 do
  local command, key, field, value = ARGV[i], KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2], ARGV[i + 3]
  if command == 'HSET' then redis.call('HSET', key, field, value)
  elseif command == 'HDEL' then redis.call('HDEL', key, field)
  else redis.call('RPUSH', key, value) end
end
redis.call('INCR', KEYS[1])
return 1
`;

type Operation = readonly ["HSET" | "HDEL" | "RPUSH", key: string, field: string, value: string];

/** Returns the arguments of EVAL for a change, or null when there is nothing to write. */
export function commitScript(
  revision: string,
  change: CatalogueChange,
  outbox: readonly Announcement[],
): [script: string, keys: number, ...rest: string[]] | null {
  const operations = [
    ...operationsOf(change),
    ...outbox.map((item): Operation => ["RPUSH", OUTBOX, "", JSON.stringify(item)]),
  ];
  if (operations.length === 0) return null;
  const args = operations.flatMap(([command, key, field, value]) => [
    command,
    String(COMMIT_KEYS.indexOf(key) + 1),
    field,
    value,
  ]);
  return [COMMIT, COMMIT_KEYS.length, ...COMMIT_KEYS, revision, ...args];
}

function operationsOf(change: CatalogueChange): Operation[] {
  const { withheld, trust } = change;
  const operations: Operation[] = [];
  const write = (key: string, field: string, value: unknown) =>
    operations.push(["HSET", key, field, JSON.stringify(value)]);
  const remove = (key: string, field: string) => operations.push(["HDEL", key, field, ""]);
  for (const kind of Kind.options) {
    const keys = [
      [LISTED[kind], change.listed[kind]],
      [IMPORTED[kind], change.imported?.[kind]],
    ] as const;
    for (const [key, entries] of keys) {
      for (const entry of entries?.set ?? []) write(key, entry.summary.name, entry);
      for (const name of entries?.remove ?? []) remove(key, name);
    }
  }
  for (const item of withheld?.remove ?? []) remove(WITHHELD, withheldField(item));
  for (const item of withheld?.set ?? []) write(WITHHELD, withheldField(item), item);
  if (trust !== undefined) {
    const { kind, name, version, root, file } = trust;
    write(TRUST, JSON.stringify([kind, name, version, root, file]), trust);
  }
  return operations;
}

/** Returns one field for each path; all definitions that clients send share one path. */
export function withheldField({ kind, entry }: WithheldEntry): string {
  const file = entry.root === IMPORTED_ROOT ? "" : entry.file;
  return JSON.stringify([kind, entry.summary.name, entry.root, file]);
}
