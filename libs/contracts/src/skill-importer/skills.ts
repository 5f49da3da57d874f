import { z } from "zod";
import { event, rpc } from "../define.ts";
import { storeUnavailable, unknownName } from "./definition-store.ts";
import { Digest, RunId, SkillName, Timestamp } from "../ids.ts";
import { Plan } from "../agent-runner/plan.ts";
import { SkillRecord } from "./skill-record.ts";
import { VersionReview } from "./skill-scan.ts";

/** A remark of an importer about a file: the position, the problem, and the remedy. */
export const Diagnostic = z.object({
  severity: z.enum(["error", "warning", "info"]),
  /** Stable snake_case code, such as `unterminated_frontmatter`. */
  code: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.int().positive().nullable(),
  column: z.int().positive().nullable(),
  /** The line that it is about, shortened. */
  excerpt: z.string().optional(),
  /** The fix: from `line` on, the lines of `before` become those of `after`. */
  patch: z.object({ line: z.int().positive(), before: z.string(), after: z.string() }).optional(),
});
export type Diagnostic = z.infer<typeof Diagnostic>;

/** The origin of a skill. With several of one name, the earlier scope counts. */
export const SkillScope = z.enum(["project", "user", "workspace", "imported"]);
export type SkillScope = z.infer<typeof SkillScope>;

export const SkillSummary = z.object({
  name: SkillName,
  description: z.string(),
  /** SHA-256 over the SKILL.md bytes; over both files of a `legacy` one. */
  digest: Digest,
  /** The directory, relative to the importer's root. */
  path: z.string(),
  userInvocable: z.boolean(),
  modelInvocable: z.boolean(),
  /** Tool patterns that the skill restricts itself to; null is not a restriction. */
  allowedTools: z.array(z.string()).nullable(),
  argumentHint: z.string().nullable(),
  /** Other fields of the file about when to use the skill: `when_to_use`, `triggers`, `tags`, `keywords`. */
  triggers: z.array(z.string()).optional(),
  /** True when the file's YAML is broken and was read after a repair; the digest is the file's own. */
  repaired: z.boolean().optional(),
  /** True when so little could be read that a person should review it; grants were ignored, restrictions kept. */
  needsReview: z.boolean().optional(),
  /** SHA-256 over the paths and digests of all its files; missing for one stored before there were versions. */
  version: Digest.optional(),
  scope: SkillScope.optional(),
  /** `legacy`: a `skill.json` with its `prompt.md`; missing for a SKILL.md. */
  format: z.enum(["legacy"]).optional(),
  /** `openclaw`: the file has metadata of OpenClaw; missing for any other, and in versions stored before it was read. */
  source: z.enum(["openclaw"]).optional(),
  diagnostics: z.array(Diagnostic),
});
export type SkillSummary = z.infer<typeof SkillSummary>;

export const Skill = SkillSummary.extend({
  /** The Markdown body. */
  body: z.string(),
  /** Names declared under `arguments`; only then are `$N` and `$name` placeholders. */
  arguments: z.array(z.string()),
  /** True when the names come from `variables`: then only `${N}` and `$name` count, and a bare `$N` is text. Missing: false. */
  needsBraces: z.boolean().optional(),
  plan: Plan.nullable(),
  /** Missing in versions stored before these fields were read. */
  record: SkillRecord.optional(),
  /** OpenClaw's `command-dispatch: tool`: the tool that the skill's slash command calls. */
  dispatch: z.object({ tool: z.string() }).optional(),
});
export type Skill = z.infer<typeof Skill>;

/** Other readers of skills, with rules of their own. */
export const SkillTarget = z.enum([
  "agent-skills",
  "claude-code",
  "claude-ai",
  "openclaw",
  "clawhub",
]);
export type SkillTarget = z.infer<typeof SkillTarget>;

/** The result of checking a file, as written, against the rules of one target. */
export const Conformance = z.object({
  target: SkillTarget,
  conforms: z.boolean(),
  problems: z.array(
    z.object({ code: z.string(), message: z.string(), line: z.int().positive().nullable() }),
  ),
});
export type Conformance = z.infer<typeof Conformance>;

/** The requirements that a skill declares, merged from its `metadata.openclaw` and the older names of that key. */
export const SkillRequirements = z.object({
  /** All of them. */
  bins: z.array(z.string()),
  /** One of them. */
  anyBins: z.array(z.string()),
  env: z.array(z.string()),
  /** Settings of OpenClaw; Switchyard has none of them. */
  config: z.array(z.string()),
  /** `windows`, `darwin`, `linux`, or the file's own value. Empty: every system. */
  os: z.array(z.string()),
  /** The author wants the rest ignored, except for `os`. */
  always: z.boolean(),
  primaryEnv: z.string().nullable(),
  /** The value as written; shown and never run. */
  install: z.array(z.unknown()),
});
export type SkillRequirements = z.infer<typeof SkillRequirements>;

/** The requirements as the importer's machine meets them at this moment; they never keep a skill from loading. */
export const SkillDependencies = z.object({
  met: z.boolean(),
  requirements: SkillRequirements,
  checks: z.array(
    z.object({
      kind: z.enum(["bin", "anyBin", "env", "config", "os"]),
      name: z.string(),
      status: z.enum(["found", "missing", "not_applicable"]),
    }),
  ),
  warnings: z.array(z.string()),
});
export type SkillDependencies = z.infer<typeof SkillDependencies>;

export const CheckedSkill = z.object({
  /** Relative to the importer's root. */
  file: z.string(),
  /** Null when the file does not load. */
  name: SkillName.nullable(),
  loads: z.boolean(),
  repaired: z.boolean(),
  needsReview: z.boolean(),
  conformance: z.array(Conformance),
  diagnostics: z.array(Diagnostic),
});
export type CheckedSkill = z.infer<typeof CheckedSkill>;

export const importSkills = rpc({
  subject: "yard.rpc.{caller}.skills.import",
  summary:
    "Imports the skills and agents below a directory on one of the importer's allowed roots.",
  role: "admin",
  request: z.strictObject({
    /** Absolute, or relative to the first allowed root. */
    directory: z.string().min(1).max(4_096),
    /** Does everything except storing. */
    dryRun: z.boolean().default(false),
  }),
  reply: z.object({
    /** `found` is `loaded` + `skipped`; `repaired` counts those of `loaded` whose YAML was repaired. */
    skills: z.object({
      found: z.int(),
      loaded: z.int(),
      skipped: z.int(),
      repaired: z.int().optional(),
    }),
    agents: z.object({ found: z.int(), loaded: z.int(), skipped: z.int() }),
    diagnostics: z.array(Diagnostic),
  }),
  errors: {
    /** Every user may do a dry run. */
    forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
    directory_not_allowed: {
      data: z.object({ directory: z.string(), roots: z.array(z.string()) }),
    },
    store_unavailable: storeUnavailable,
    directory_missing: { data: z.object({ directory: z.string() }) },
  },
  timeoutMs: 60_000,
});

export const checkSkills = rpc({
  subject: "yard.rpc.{caller}.skills.check",
  summary: "Reads the skill files below a directory and checks them; nothing is stored.",
  role: "admin",
  request: z.strictObject({
    /** Absolute, or relative to the first allowed root. */
    directory: z.string().min(1).max(4_096),
    /** Only these; all when missing. */
    targets: z.array(SkillTarget).max(5).optional(),
    /** Files to pass over, in path order. */
    offset: z.int().nonnegative().default(0),
    limit: z.int().min(1).max(100).default(100),
  }),
  reply: z.object({
    files: z.array(CheckedSkill),
    /** Skill files below the directory. */
    total: z.int().nonnegative(),
    /** Remarks of the search itself, such as a limit that it reached. */
    diagnostics: z.array(Diagnostic),
    /** The start of the next page; null at the end. */
    nextOffset: z.int().nullable(),
  }),
  errors: {
    directory_not_allowed: {
      data: z.object({ directory: z.string(), roots: z.array(z.string()) }),
    },
    directory_missing: { data: z.object({ directory: z.string() }) },
  },
  timeoutMs: 60_000,
});

export const listSkills = rpc({
  subject: "yard.rpc.{caller}.skills.list",
  summary: "Lists the imported skills.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({ skills: z.array(SkillSummary) }),
  errors: { store_unavailable: storeUnavailable },
});

export const getSkill = rpc({
  subject: "yard.rpc.{caller}.skills.get",
  summary: "Returns one skill with its body.",
  role: "viewer",
  request: z.strictObject({
    name: SkillName,
    digest: Digest.optional(),
    /** In place of `digest`: a stored version, listed or not. */
    version: Digest.optional(),
  }),
  reply: z.object({
    skill: Skill,
    /** Present when `version` was given. */
    review: VersionReview.optional(),
    /** The placeholders of the body, such as `ARGUMENTS[0]`; see `skills.render`. */
    variables: z.array(z.string()).optional(),
    /** Missing for a version that was stored before files were checked. */
    conformance: z.array(Conformance).optional(),
    /** Null when the skill declares no requirements. */
    dependencies: SkillDependencies.nullable().optional(),
  }),
  errors: { unknown_skill: unknownName, store_unavailable: storeUnavailable },
});

export const renderSkill = rpc({
  subject: "yard.rpc.{caller}.skills.render",
  summary: "Renders a skill for a prompt: substitutions done, size cut, wrapped.",
  role: "viewer",
  request: z.strictObject({
    name: SkillName,
    digest: Digest.optional(),
    /** The argument line as typed; split by shell quoting rules. */
    arguments: z.string().max(65_536).default(""),
    sessionId: RunId.optional(),
    /** `text` is the skill's own text, as its file has it. */
    raw: z.boolean().optional(),
  }),
  reply: z.object({
    name: SkillName,
    /** The digest of all files of the version that was rendered. */
    digest: Digest,
    text: z.string(),
    allowedTools: z.array(z.string()).nullable(),
    /** Patterns of tools that the skill excludes; a run that uses it never calls them. */
    disallowedTools: z.array(z.string()).optional(),
    plan: Plan.nullable(),
    warnings: z.array(z.string()),
  }),
  errors: { unknown_skill: unknownName, store_unavailable: storeUnavailable },
});

export const skillImported = event({
  subject: "yard.evt.skill.{skill}.imported",
  summary: "A skill was added or replaced.",
  payload: z.object({
    skill: SkillSummary,
    /** The importer's remarks about its file. */
    warnings: z.array(z.string()).optional(),
    /** The result on the importer's machine at the import; null when the skill declares no requirements. */
    dependenciesMet: z.boolean().nullable().optional(),
    at: Timestamp,
  }),
});
