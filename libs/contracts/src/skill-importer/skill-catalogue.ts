import { z } from "zod";
import { rpc } from "../define.ts";
import { KeepForMs, storeUnavailable, unknownName } from "./definition-store.ts";
import { Digest, SkillName } from "../ids.ts";

/** One skill in the list for a model. */
export const ListedSkill = z.object({
  name: SkillName,
  /** The digest of all its files: `skills.render` with it renders this version, even if another one is listed meanwhile. */
  digest: Digest,
  /** Estimated cost of its line in the list: UTF-8 bytes / 4. */
  tokens: z.int().nonnegative(),
  /** True when its description is cut. */
  shortened: z.boolean(),
});
export type ListedSkill = z.infer<typeof ListedSkill>;

/** The list of skills for a system prompt, within its budget, and what did not fit. */
export const SkillCatalogue = z.object({
  /** Escaped XML; empty when there is nothing to list. */
  text: z.string(),
  /** The limit on the cost of the list. */
  budgetTokens: z.int().positive(),
  /** The cost of the list, wrapper and notes included. */
  tokens: z.int().nonnegative(),
  /** The cost of the list with every description whole. */
  wholeTokens: z.int().nonnegative(),
  /** By name; only these may be activated. */
  listed: z.array(ListedSkill),
  /** Names of the skills that were left out, by name. */
  dropped: z.array(SkillName),
  /** Present for a complete list only, which is the same for any work. */
  keepForMs: KeepForMs.optional(),
});
export type SkillCatalogue = z.infer<typeof SkillCatalogue>;

export const skillCatalogue = rpc({
  subject: "yard.rpc.{caller}.skills.catalogue",
  summary: "Returns the list of skills for a system prompt, cut to its budget, and what was cut.",
  role: "viewer",
  request: z.strictObject({
    /** A hundredth of it is the budget. */
    contextWindow: z.int().min(1_024).max(100_000_000).optional(),
    /** Replaces every other budget. */
    budgetTokens: z.int().min(50).max(1_000_000).optional(),
    /** A description of the work: when skills must be left out, those that fit it least go first. */
    about: z.string().max(65_536).optional(),
    /** Skills that are left out, as if they did not exist. */
    without: z.array(SkillName).max(100).optional(),
  }),
  reply: SkillCatalogue,
  errors: { store_unavailable: storeUnavailable },
});

/** Finds the skills that fit a text, the best first. */
export const matchSkills = rpc({
  subject: "yard.rpc.{caller}.skills.match",
  summary: "Finds the skills that fit a text, by BM25 over name, description and triggers.",
  role: "viewer",
  request: z.strictObject({
    text: z.string().min(1).max(65_536),
    limit: z.int().min(1).max(100).default(10),
    /** Returns only skills that a model may activate. */
    modelInvocableOnly: z.boolean().default(false),
  }),
  reply: z.object({
    matches: z.array(
      z.object({
        name: SkillName,
        description: z.string(),
        digest: Digest,
        /** Comparable within one reply only. */
        score: z.number().positive(),
        /** The words of the text that the skill has, too. */
        terms: z.array(z.string()),
      }),
    ),
    /** The number of skills that were searched. */
    searched: z.int().nonnegative(),
  }),
  errors: { store_unavailable: storeUnavailable },
});

/** A skill as a plugin registry shows it. */
export const SkillManifest = z.object({
  /** `openclaw-skill-` and the name, so that no skill takes the id of a built-in. */
  id: z.string(),
  name: SkillName,
  version: z.string(),
  /** Null when the skill names none. */
  author: z.string().nullable(),
  description: z.string(),
  category: z.literal("tools"),
  icon: z.literal("Plug"),
  /** `openclaw`: it has OpenClaw's metadata, or a command of its kind; the others only keep the common format. */
  source: z.enum(["openclaw", "agent-skills"]),
  /** The tool that represents the skill; it has no handler of its own. */
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      parameters: z.object({}),
      /** `tool`: the call goes straight to the named tool, with the arguments as typed. */
      dispatch: z.enum(["skill", "tool"]),
    }),
  ),
  keywords: z.array(z.string()),
});
export type SkillManifest = z.infer<typeof SkillManifest>;

/** A command that a person types to use a skill. */
export const SlashCommand = z.object({
  /** With the slash. */
  name: z.string(),
  argumentHint: z.string().nullable(),
  /** False when the skill is not for people, or a built-in command has its name. */
  available: z.boolean(),
  /** The command that already has the name. */
  shadowedBy: z.string().nullable(),
});
export type SlashCommand = z.infer<typeof SlashCommand>;

export const RegisteredSkill = z.object({
  manifest: SkillManifest,
  command: SlashCommand,
  digest: Digest,
  /** The body without space around it. */
  instructions: z.string(),
  warnings: z.array(z.string()),
  /** On the importer's machine, now. */
  dependenciesMet: z.boolean(),
  /** The skill's directory, relative to the importer's root. */
  sourcePath: z.string(),
  registration: z.object({
    source: z.literal("local"),
    installer: z.literal("openclaw-importer"),
  }),
});
export type RegisteredSkill = z.infer<typeof RegisteredSkill>;

/** The version of a skill whose file has none, and of every entry of a registry [B12] [D4]. */
export const DEFAULT_VERSION = "1.0.0";

export const skillManifests = rpc({
  subject: "yard.rpc.{caller}.skills.manifests",
  summary: "Returns skills as a plugin registry shows them, with their slash commands.",
  role: "viewer",
  request: z.strictObject({
    /** Only this one; else a page of all, by name. */
    name: SkillName.optional(),
    /** Only those with OpenClaw's metadata, or only the others. */
    source: z.enum(["openclaw", "agent-skills"]).optional(),
    offset: z.int().nonnegative().default(0),
    limit: z.int().min(1).max(50).default(50),
  }),
  reply: z.object({
    skills: z.array(RegisteredSkill),
    total: z.int().nonnegative(),
    /** The start of the next page; null at the end. */
    nextOffset: z.int().nullable(),
  }),
  errors: {
    unknown_skill: unknownName,
    store_unavailable: storeUnavailable,
  },
});
