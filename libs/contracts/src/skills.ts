import { z } from "zod";
import { event, rpc } from "./define.ts";
import { storeUnavailable, unknownName } from "./definition-store.ts";
import { Digest, RunId, SkillName, Timestamp } from "./ids.ts";
import { Plan } from "./plan.ts";
import { SkillRecord } from "./skill-record.ts";
import { VersionReview } from "./skill-scan.ts";

/** Something an importer has to say about a file: where it is, what is wrong, what to do. */
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
  /** What to write instead: from `line` on, the lines of `before` become those of `after`. */
  patch: z.object({ line: z.int().positive(), before: z.string(), after: z.string() }).optional(),
});
export type Diagnostic = z.infer<typeof Diagnostic>;

/** Where a skill comes from. Of one name, the earlier scope counts. */
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
  /** What else the file says about when to use the skill: `when_to_use`, `triggers`, `tags`, `keywords`. */
  triggers: z.array(z.string()).optional(),
  /** True when the file's YAML is broken and was read after a repair; the digest is the file's own. */
  repaired: z.boolean().optional(),
  /** True when so little could be read that a person should look; grants were ignored, restrictions kept. */
  needsReview: z.boolean().optional(),
  /** SHA-256 over the paths and digests of all its files; missing for one stored before there were versions. */
  version: Digest.optional(),
  scope: SkillScope.optional(),
  /** `legacy`: a `skill.json` with its `prompt.md`; missing for a SKILL.md. */
  format: z.enum(["legacy"]).optional(),
  diagnostics: z.array(Diagnostic),
});
export type SkillSummary = z.infer<typeof SkillSummary>;

export const Skill = SkillSummary.extend({
  /** The Markdown body. */
  body: z.string(),
  /** Names declared under `arguments`; only then do `$N` and `$name` stand for something. */
  arguments: z.array(z.string()),
  /** True when the names come from `variables`: then only `${N}` and `$name` count, and a bare `$N` is text. Missing: false. */
  needsBraces: z.boolean().optional(),
  plan: Plan.nullable(),
  /** Missing in versions stored before these fields were read. */
  record: SkillRecord.optional(),
  /** OpenClaw's `command-dispatch: tool`: the tool that the skill's slash command stands for. */
  dispatch: z.object({ tool: z.string() }).optional(),
});
export type Skill = z.infer<typeof Skill>;

/** Who else reads skills, by rules of their own. */
export const SkillTarget = z.enum([
  "agent-skills",
  "claude-code",
  "claude-ai",
  "openclaw",
  "clawhub",
]);
export type SkillTarget = z.infer<typeof SkillTarget>;

/** Whether a file, as it was written, keeps the rules of one target. */
export const Conformance = z.object({
  target: SkillTarget,
  conforms: z.boolean(),
  problems: z.array(
    z.object({ code: z.string(), message: z.string(), line: z.int().positive().nullable() }),
  ),
});
export type Conformance = z.infer<typeof Conformance>;

/** What a skill says it needs, merged from its `metadata.openclaw` and the older names of that key. */
export const SkillRequirements = z.object({
  /** All of them. */
  bins: z.array(z.string()),
  /** One of them. */
  anyBins: z.array(z.string()),
  env: z.array(z.string()),
  /** Settings of OpenClaw; nothing here has them. */
  config: z.array(z.string()),
  /** `windows`, `darwin`, `linux`, or what the file says. Empty: every system. */
  os: z.array(z.string()),
  /** The author wants the rest ignored, except for `os`. */
  always: z.boolean(),
  primaryEnv: z.string().nullable(),
  /** As written; shown and never run. */
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
    /** Does everything but store. */
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
    /** A dry run is for everybody. */
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
    /** What the search itself has to say, such as a limit that it reached. */
    diagnostics: z.array(Diagnostic),
    /** Where the next page begins; null at the end. */
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
    /** Missing for a version that was stored before files were judged. */
    conformance: z.array(Conformance).optional(),
    /** Null when the skill says nothing about what it needs. */
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
  }),
  reply: z.object({
    name: SkillName,
    /** Of all files of the version that was rendered. */
    digest: Digest,
    text: z.string(),
    allowedTools: z.array(z.string()).nullable(),
    /** Patterns of tools that the skill does without; a run that uses it never calls them. */
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
    /** What the importer has to remark about its file. */
    warnings: z.array(z.string()).optional(),
    /** On the importer's machine at the import; null when the skill says nothing about what it needs. */
    dependenciesMet: z.boolean().nullable().optional(),
    at: Timestamp,
  }),
});
