import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { parsePointer } from "@switchyard/contracts/json-pointer";
import { parseToolPattern } from "@switchyard/contracts/tool-names";
import { z } from "zod";
import { isComparablePath } from "../engine/path-within.ts";

/**
 * The shape of a policy file. The vocabulary is closed: a key or operator that is not here refuses
 * the whole bundle, because a rule that is silently not applied is worse than none. The same holds
 * for selectors that can never match anything.
 */

const EMPTY_LIST = "is empty; leave it out to mean any";
const ONE_LINE = /^[^\p{Cc}]+$/u;

const Text = z.string({ error: "must be a text" }).normalize("NFC");
const FiniteNumber = z
  .number({ error: "must be a number" })
  .refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), {
    error: "is larger than JSON numbers are exact (2^53 - 1); compare it as a text",
  });
const Scalar = z.union([Text.max(4_096), FiniteNumber, z.boolean(), z.null()], {
  error: "must be a text, a number within 2^53 - 1, true, false or null",
});
const Arg = z
  .string({ error: "must be a JSON pointer such as /path" })
  .max(256)
  .refine((pointer) => pointer !== "" && parsePointer(pointer) !== null, {
    error: "must be a JSON pointer such as /path or /options/0/name (RFC 6901)",
  });
const required = z.boolean({ error: "must be true or false" }).optional();

const Directory = Text.refine(isComparablePath, {
  error: "must be a plain directory path, absolute or relative, that does not climb out with ..",
});
const Length = z.int({ error: "must be a whole number" }).min(0, "must not be negative");
const ScalarList = z
  .array(Scalar, { error: "must be a list" })
  .min(1, "is empty, so it would never match")
  .max(1_000, "has more than 1,000 entries");

export const Condition = z.discriminatedUnion(
  "op",
  [
    z.strictObject({ arg: Arg, op: z.literal("eq"), value: Scalar, required }),
    z.strictObject({ arg: Arg, op: z.literal("in"), value: ScalarList, required }),
    z.strictObject({ arg: Arg, op: z.literal("prefix"), value: Text.min(1).max(4_096), required }),
    z.strictObject({ arg: Arg, op: z.literal("glob"), value: Text.min(1).max(256), required }),
    z.strictObject({ arg: Arg, op: z.literal("lte"), value: FiniteNumber, required }),
    z.strictObject({ arg: Arg, op: z.literal("gte"), value: FiniteNumber, required }),
    z.strictObject({ arg: Arg, op: z.literal("maxLength"), value: Length, required }),
    z.strictObject({ arg: Arg, op: z.literal("pathWithin"), value: Directory, required }),
    z.strictObject({ arg: Arg, op: z.literal("absent") }),
  ],
  { error: objectError("must be a mapping with arg, op and value") },
);
export type Condition = z.infer<typeof Condition>;

export const OPERATORS = Condition.options.map((option) => option.shape.op.value);

/** Globs over agent and user names. What such a name cannot contain can never match one. */
const NameGlob = z
  .string({ error: "must be a text" })
  .regex(
    /^[A-Za-z0-9*?][A-Za-z0-9_*?-]{0,63}$/,
    "can never match a name: names have only A-Z a-z 0-9 _ - (and * and ? stand for others)",
  );
const ToolGlob = Text.min(1, "must not be empty")
  .max(256, "is longer than 256 characters")
  .refine(canMatchATool, {
    error:
      "can never match a tool: write mcp__server__tool, server.tool, or the bare name of a built-in tool (* and ? stand for others)",
  });

const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item, { error: "must be a list" })
    .min(1, EMPTY_LIST)
    .max(1_000, "has more than 1,000 entries");

const Who = z
  .strictObject(
    { agents: listOf(NameGlob).optional(), users: listOf(NameGlob).optional() },
    { error: objectError("must be a mapping of agents and users") },
  )
  .refine(hasSelector, { error: "selects nothing; leave it out to mean everyone", when: isSound });

/** `server.name`, the name being a resource's URI or a prompt's name. */
const FeatureGlob = Text.max(2_100, "is longer than 2,100 characters").regex(
  /^[a-z0-9*?-]{1,24}\..+$/s,
  "must be server.name, such as docs.file:///srv/docs/* (* and ? stand for others)",
);
const ServerGlob = z
  .string({ error: "must be a text" })
  .regex(/^[a-z0-9*?-]{1,24}$/, "must be the id of an MCP server (* and ? stand for others)");

const What = z
  .strictObject(
    {
      tools: listOf(ToolGlob).optional(),
      resources: listOf(FeatureGlob).optional(),
      prompts: listOf(FeatureGlob).optional(),
      sampling: listOf(ServerGlob).optional(),
      elicitation: listOf(ServerGlob).optional(),
      logging: listOf(ServerGlob).optional(),
    },
    { error: objectError("must be a mapping with tools") },
  )
  .refine(hasSelector, {
    error: "selects nothing; leave it out to mean every tool",
    when: isSound,
  });

export const Rule = z.strictObject(
  {
    id: z
      .string({ error: "must be a text" })
      .regex(
        /^[a-z0-9][a-z0-9-]{0,63}$/,
        "must be 1-64 characters of a-z 0-9 -, starting with a letter or digit",
      ),
    effect: z.enum(["allow", "deny"], { error: "must be allow or deny" }),
    who: Who.optional(),
    what: What.optional(),
    when: z
      .array(Condition, { error: "must be a list of conditions" })
      .min(1, "is empty; leave it out to mean any arguments")
      .max(50, "has more than 50 conditions")
      .optional(),
    note: Text.max(300, "is longer than 300 characters")
      .regex(ONE_LINE, "must be one line of text: it becomes part of a decision's reason")
      .optional(),
  },
  { error: objectError("must be a mapping with id and effect") },
);
export type Rule = z.infer<typeof Rule>;

export const Bundle = z.strictObject(
  {
    version: z.literal(1, { error: "must be 1" }),
    rules: z
      .array(Rule, { error: "must be a list of rules" })
      .min(1, "is empty; a bundle that denies everything says so with a deny rule")
      .max(10_000, "has more than 10,000 rules"),
  },
  { error: objectError("the bundle must be a mapping with version and rules") },
);
export type Bundle = z.infer<typeof Bundle>;

/**
 * `sha256:` over the canonical form of the parsed bundle: keys and rules sorted, so comments,
 * layout and the order of rules, none of which can change a decision, do not change the digest.
 */
export function bundleDigest(bundle: Bundle): string {
  const rules = bundle.rules.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return canonicalDigest({ rules, version: bundle.version });
}

/** The keys that a mapping at this place of a policy file may have. */
export function bundleKeys(path: readonly PropertyKey[]): readonly string[] {
  const [, rule, part, condition] = path;
  if (rule === undefined) return Object.keys(Bundle.shape);
  if (part === undefined) return Object.keys(Rule.shape);
  if (part === "who") return Object.keys(Who.shape);
  if (part === "what") return Object.keys(What.shape);
  return condition === undefined ? [] : Object.keys(Condition.options[0].shape);
}

/** Keeps zod's own issue for unknown keys, and says in our words what else is wrong with a mapping. */
export function objectError(message: string) {
  return (issue: { readonly code?: string | undefined }) =>
    issue.code === "invalid_type" ? message : undefined;
}

/** A mapping whose only key is unknown selects nothing as well; one message is enough. */
function isSound(payload: { readonly issues: readonly unknown[] }): boolean {
  return payload.issues.length === 0;
}

function hasSelector(selectors: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(selectors).length > 0;
}

function canMatchATool(text: string): boolean {
  const pattern = parseToolPattern(text);
  if (pattern.kind !== "bare") return true;
  // `mcp__files` or `mcp__GitHub__x` read as bare names, which no tool without a server has.
  return /^[a-zA-Z0-9_*?-]{1,64}$/.test(text) && !text.startsWith("mcp_");
}
