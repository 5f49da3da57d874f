import { cutForReader } from "@switchyard/contracts/cut-text";
import type { PolicyResultRule, PolicyRule } from "@switchyard/contracts/policy/policy-bundles";
import { MAX_RULE_WORDS } from "@switchyard/contracts/policy/policy-bundles";
import type { CompiledBundle, CompiledRule } from "../bundle/compile-bundle.ts";
import { approveWords } from "./approve-terms.ts";

/** Describes the rules in force in words for people, in the order of ids, starting after the id `after`. */
export function rulesInWords(
  bundle: Pick<CompiledBundle, "rules" | "defaultTier">,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): { readonly rules: PolicyRule[]; readonly next: string | null } {
  const behind = after === undefined ? bundle.rules : bundle.rules.filter(({ id }) => id > after);
  const rules = behind.slice(0, limit).map((rule) => inWords(rule, bundle.defaultTier));
  return { rules, next: behind.length > limit ? (rules.at(-1)?.id ?? null) : null };
}

/** Describes the rules about results in force in words for people. */
export function resultsInWords({ results }: Pick<CompiledBundle, "results">): PolicyResultRule[] {
  return results.map(({ selector, finds, effect }) => ({
    id: selector.id,
    effect,
    who: cut(whoOf(selector)),
    what: cut(whatOf(selector)),
    finds: cut(finds.join(", ")),
  }));
}

function inWords(rule: CompiledRule, defaultTier: CompiledBundle["defaultTier"]): PolicyRule {
  const { id, effect, tier, note, conditions, unmask } = rule;
  const decided = tier ?? defaultTier;
  return {
    id,
    effect,
    ...(effect === "allow" && decided !== null && { tier: decided }),
    ...(rule.approve !== null && { approve: cut(approveWords(rule.approve)) }),
    who: cut(whoOf(rule)),
    what: cut(whatOf(rule)),
    when: conditions.map(({ arg, wanted, required }) =>
      cut(`${wordsFor(arg, wanted)}${required ? ", and it is given" : ""}`),
    ),
    ...(unmask.length > 0 && { unmask: unmask.join(", ") }),
    note,
  };
}

function whoOf(rule: CompiledRule): string {
  const { agents, users, roles, channels, groups, replayed } = rule;
  const parts = [
    part("agent", agents),
    part("user", users),
    part("role", roles),
    part("channel", channels),
    part("group", groups),
    replayed ? "also while a recording is played" : null,
  ].filter((one) => one !== null);
  return parts.length === 0 ? "everybody" : parts.join(", and ");
}

function part(name: string, globs: readonly string[] | null): string | null {
  return globs === null ? null : `${name} ${either(globs)}`;
}

function whatOf({ tools, features, anyLabel, notLabels, isAboutEverything }: CompiledRule): string {
  const named = [
    tools === null ? (isAboutEverything ? "everything" : "every tool") : either(tools),
    ...features.map(({ kind, server, name }) => `${kind} ${server}.${name}`),
  ].filter((one) => one !== "");
  const labels = [
    anyLabel === null ? "" : ` with the label ${either(anyLabel)}`,
    notLabels.length === 0 ? "" : ` without the label ${either(notLabels)}`,
  ];
  return `${named.join(", ")}${labels.join("")}`;
}

/** Renders `/amount` and `lte 10`, or `not lte 10`, in words. */
function wordsFor(arg: string, wanted: string): string {
  const [, not, op = "", value = ""] = /^(not )?(\w+) ?(.*)$/s.exec(wanted) ?? [];
  const text = `${arg} ${OPERATORS[op] ?? op} ${value}`.trimEnd();
  return not === undefined ? text : `it is not so that ${text}`;
}

const OPERATORS: Readonly<Record<string, string>> = {
  eq: "is",
  in: "is one of",
  inFile: "is in the list",
  prefix: "begins with",
  glob: "looks like",
  matches: "matches",
  lt: "is less than",
  lte: "is at most",
  gt: "is more than",
  gte: "is at least",
  maxLength: "is no longer than",
  pathWithin: "lies within",
  hostIn: "is on a host of",
  absent: "is not given",
  within: "is within",
  finds: "have",
};

function either(globs: readonly string[]): string {
  return globs.length < 2
    ? (globs[0] ?? "")
    : `${globs.slice(0, -1).join(", ")} or ${globs.at(-1)}`;
}

function cut(text: string): string {
  return cutForReader(text, MAX_RULE_WORDS);
}
