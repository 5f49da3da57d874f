import { z } from "zod";
import { event, rpc } from "./define.ts";
import { Digest, RunId, SkillName, Timestamp } from "./ids.ts";
import { Plan } from "./plan.ts";

/** Something an importer has to say about a file: where it is, what is wrong, what to do. */
export const Diagnostic = z.object({
  severity: z.enum(["error", "warning", "info"]),
  /** Stable snake_case code, such as `unterminated_frontmatter`. */
  code: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.int().positive().nullable(),
  column: z.int().positive().nullable(),
});
export type Diagnostic = z.infer<typeof Diagnostic>;

export const SkillSummary = z.object({
  name: SkillName,
  description: z.string(),
  /** SHA-256 over the SKILL.md bytes. */
  digest: Digest,
  /** The directory, relative to the importer's root. */
  path: z.string(),
  userInvocable: z.boolean(),
  modelInvocable: z.boolean(),
  /** Tool patterns that the skill restricts itself to; null is no restriction. */
  allowedTools: z.array(z.string()).nullable(),
  argumentHint: z.string().nullable(),
  diagnostics: z.array(Diagnostic),
});
export type SkillSummary = z.infer<typeof SkillSummary>;

export const Skill = SkillSummary.extend({
  /** The Markdown body. */
  body: z.string(),
  /** Names declared under `arguments`; only then do `$N` and `$name` stand for something. */
  arguments: z.array(z.string()),
  plan: Plan.nullable(),
});
export type Skill = z.infer<typeof Skill>;

const unknownSkill = {
  data: z.object({ name: z.string(), known: z.array(z.string()).max(50) }),
};

export const importSkills = rpc({
  subject: "yard.rpc.{caller}.skills.import",
  summary:
    "Imports the skills and agents below a directory on one of the importer's allowed roots.",
  request: z.strictObject({
    /** Absolute, or relative to the first allowed root. */
    directory: z.string().min(1).max(4_096),
  }),
  reply: z.object({
    skills: z.object({ found: z.int(), loaded: z.int(), skipped: z.int() }),
    agents: z.object({ found: z.int(), loaded: z.int(), skipped: z.int() }),
    diagnostics: z.array(Diagnostic),
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
  request: z.strictObject({}),
  reply: z.object({ skills: z.array(SkillSummary) }),
});

export const getSkill = rpc({
  subject: "yard.rpc.{caller}.skills.get",
  summary: "Returns one skill with its body.",
  request: z.strictObject({ name: SkillName, digest: Digest.optional() }),
  reply: z.object({ skill: Skill }),
  errors: { unknown_skill: unknownSkill },
});

export const renderSkill = rpc({
  subject: "yard.rpc.{caller}.skills.render",
  summary: "Renders a skill for a prompt: substitutions done, size cut, wrapped.",
  request: z.strictObject({
    name: SkillName,
    digest: Digest.optional(),
    /** The argument line as typed; split by shell quoting rules. */
    arguments: z.string().max(65_536).default(""),
    sessionId: RunId.optional(),
  }),
  reply: z.object({
    name: SkillName,
    digest: Digest,
    text: z.string(),
    allowedTools: z.array(z.string()).nullable(),
    plan: Plan.nullable(),
    warnings: z.array(z.string()),
  }),
  errors: { unknown_skill: unknownSkill },
});

export const skillImported = event({
  subject: "yard.evt.skill.{skill}.imported",
  summary: "A skill was added or replaced.",
  payload: z.object({ skill: SkillSummary, at: Timestamp }),
});
