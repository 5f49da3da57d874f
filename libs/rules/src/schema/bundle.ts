/* oxlint-disable unicorn/consistent-function-scoping -- each helper serves only the function that contains it */
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import { z } from "zod";
import { Budget, Duration } from "./budget-schema.ts";
import { Labelling, Layer, Owners, Profiles, SubAgents } from "./layer-schema.ts";
import { Condition, conditionKeys, isTemporal } from "./condition-schema.ts";
import { checkFileConditions } from "./file-conditions.ts";
import { Origins, Starter } from "./starter-schema.ts";
import { Approve, Deputy, Escalate, Group, Person } from "./approve-schema.ts";
import { Approver, CallsOf } from "./approver-schema.ts";
import { ResultRule, Unmask } from "./result-schema.ts";
import { Right } from "./right-schema.ts";
import { selectsToolsOnly } from "./tool-selectors.ts";
import { EntryId, For, isSound, objectError, Text, What, Who } from "./selector-schema.ts";

/**
 * The shape of a policy file. The vocabulary is closed: a key or operator that is not here refuses
 * the whole bundle, because a rule that is silently not applied is worse than none. The same holds
 * for selectors that can never match anything.
 */

const ONE_LINE = /^[^\p{Cc}]+$/u;

const approval = z.enum(ApprovalTier.options, { error: "must be auto, session or always" });

export const Rule = z
  .strictObject(
    {
      id: EntryId,
      effect: z.enum(["allow", "deny"], { error: "must be allow or deny" }),
      approval: approval.optional(),
      approve: Approve.optional(),
      who: Who.optional(),
      what: What.optional(),
      when: z
        .array(Condition, { error: "must be a list of conditions" })
        .min(1, "is empty; leave it out to mean any arguments")
        .max(50, "has more than 50 conditions")
        .optional(),
      ttl: Duration.optional(),
      unmask: Unmask.optional(),
      note: Text.max(300, "is longer than 300 characters")
        .regex(ONE_LINE, "must be one line of text: it becomes part of a decision's reason")
        .optional(),
    },
    { error: objectError("must be a mapping with id and effect") },
  )
  .superRefine(checkFileConditions)
  .refine(({ effect, approval: tier }) => effect === "allow" || tier === undefined, {
    path: ["approval"],
    error: "goes only with effect: allow; a denied call cannot be approved",
    when: isSound,
  })
  .refine(
    ({ effect, approval: tier, approve }) =>
      approve === undefined || (effect === "allow" && tier !== "auto"),
    {
      path: ["approve"],
      error: "goes only with effect: allow, and not with approval: auto",
      when: isSound,
    },
  )
  .refine(({ effect, who }) => effect === "allow" || who?.replayed === undefined, {
    path: ["who", "replayed"],
    error: "goes only with effect: allow; a deny rule is about replayed runs as it is about others",
    when: isSound,
  })
  .refine(({ approval: tier, ttl }) => ttl === undefined || tier === "session", {
    path: ["ttl"],
    error: "goes only with approval: session; it says for how long an approval stays good",
    when: isSound,
  })
  .refine(
    ({ effect, what, unmask }) =>
      unmask === undefined || (effect === "allow" && selectsToolsOnly(what)),
    {
      path: ["unmask"],
      error: "goes only with effect: allow, and with what that selects tools alone",
      when: isSound,
    },
  )
  .refine(({ what, when }) => when?.some(isTemporal) !== true || selectsToolsOnly(what), {
    path: ["what"],
    error:
      "has to select tools, and nothing else, beside a condition on earlier calls: only calls of tools are counted",
    when: isSound,
  });
export type Rule = z.infer<typeof Rule>;

const Defaults = z.strictObject(
  {
    effect: z.literal("deny", { error: "must be deny: what no rule allows is denied" }).optional(),
    approval: approval.optional(),
    ttl: Duration.optional(),
  },
  { error: objectError("must be a mapping of effect, approval and ttl") },
);

const listed = <Item extends z.ZodType>(item: Item, what: string) =>
  z
    .array(item, { error: `must be a list of ${what}` })
    .min(1, "is empty; leave it out")
    .max(10_000, `has more than 10,000 ${what}`)
    .optional();

/** One file; together the files of a bundle have at least one rule. */
export const BundleFile = z.strictObject(
  {
    version: z.literal(1, { error: "must be 1" }),
    defaults: Defaults.optional(),
    owners: Owners.optional(),
    subAgents: SubAgents.optional(),
    profiles: Profiles.optional(),
    labels: listed(Labelling, "labels"),
    layers: listed(Layer, "layers"),
    budgets: listed(Budget, "budgets"),
    starters: listed(Starter, "starters"),
    origins: Origins.optional(),
    rights: listed(Right, "rights"),
    approvers: listed(Approver, "approvers"),
    groups: listed(Group, "groups"),
    people: listed(Person, "people"),
    deputies: listed(Deputy, "deputies"),
    results: listed(ResultRule, "results"),
    rules: z
      .array(Rule, { error: "must be a list of rules" })
      .min(1, "is empty; a bundle that denies everything needs a deny rule")
      .max(10_000, "has more than 10,000 rules")
      .optional(),
  },
  { error: objectError("the bundle must be a mapping with version and rules") },
);
export type BundleFile = z.infer<typeof BundleFile>;

/** All files of a bundle together, in an order that is none of theirs. */
export interface Bundle extends Omit<BundleFile, "rules"> {
  readonly rules: readonly Rule[];
  /** The entries of the files that `inFile` names. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Returns `sha256:` over the canonical form of the parsed bundle: keys and entries are sorted, so comments, layout, the order of
 * entries and the file of each, none of which can change a decision, do not change the digest.
 */
export function bundleDigest(bundle: Bundle): string {
  const byId = <T extends { readonly id: string }>(entries: readonly T[] | undefined) =>
    entries?.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const byContent = (entries: readonly unknown[] | undefined) =>
    entries?.map((entry) => canonicalDigest(entry)).toSorted();
  const { rules, layers, budgets, starters, rights, approvers, labels, ...others } = bundle;
  const { groups, people, deputies, results, ...sections } = others;
  const sorted = {
    ...sections,
    rules: byId(rules),
    layers: byId(layers),
    budgets: byId(budgets),
    starters: byId(starters),
    rights: byId(rights),
    approvers: byId(approvers),
    groups: byId(groups),
    people: byId(people),
    deputies: byId(deputies),
    results: byId(results),
    labels: byContent(labels),
  };
  return canonicalDigest(
    Object.fromEntries(Object.entries(sorted).filter(([, section]) => section !== undefined)),
  );
}

/** Returns the keys that a mapping at this path of a policy file may have. */
export function bundleKeys(path: readonly PropertyKey[]): readonly string[] {
  const [section, entry, part, condition, ...below] = path;
  if (section === undefined) return Object.keys(BundleFile.shape);
  const ofSection: Readonly<Record<PropertyKey, z.ZodObject>> = {
    defaults: Defaults,
    owners: Owners,
    subAgents: SubAgents,
    labels: Labelling,
    layers: Layer,
    budgets: Budget,
    starters: Starter,
    origins: Origins,
    rights: Right,
    approvers: Approver,
    groups: Group,
    people: Person,
    deputies: Deputy,
    results: ResultRule,
    rules: Rule,
  };
  const shape = ofSection[section]?.shape ?? {};
  if (part === undefined) return Object.keys(shape);
  if (part === "approve")
    return Object.keys(condition === "escalate" ? Escalate.shape : Approve.shape);
  if (part === "callsOf") return Object.keys(CallsOf.shape);
  if (part === "for") return Object.keys(For.shape);
  if (part === "who") return Object.keys(Who.shape);
  if (part === "what") return Object.keys(condition === "labels" ? { any: 0, not: 0 } : What.shape);
  return condition === undefined || entry === undefined ? [] : conditionKeys(below);
}
