import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import {
  FILE_ACCESSES,
  fileAccessOf,
  type FileAccess,
} from "@switchyard/contracts/toolbox/file-access";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { matchesTool, type ToolPattern } from "@switchyard/contracts/tool-patterns";
import { compileBudgets, type CompiledBudget } from "../budgets/compile-budgets.ts";
import { compileLabels, labelsOf, type LabelRule } from "../layers/labels.ts";
import { compileNarrowings, type Narrowing } from "../layers/narrowing.ts";
import { defaultTier } from "../layers/default-tier.ts";
import { bundleDigest, type Bundle, type Rule } from "../schema/bundle.ts";
import { featurePatternsOf, type FeaturePattern } from "./feature-patterns.ts";
import { toolPatternsOf } from "../schema/tool-selectors.ts";
import { compilePeople, type People } from "../rights/people.ts";
import type { Approve } from "../schema/approve-schema.ts";
import type { Finding, ResultEffect } from "@switchyard/contracts/policy/findings";
import type { StartRules } from "../rights/may-start.ts";
import { compileCondition, type CompiledCondition, type Lists } from "./conditions.ts";

/** A bundle compiled for decisions: everything is parsed once, and rules are indexed by the tool they name. */
export interface CompiledBundle {
  readonly digest: string;
  readonly ruleCount: number;
  /** Every rule once, in the order of ids. */
  readonly rules: readonly CompiledRule[];
  readonly deny: RuleIndex;
  readonly allow: RuleIndex;
  /** The narrowings beside the rules, in the order in which they are evaluated. */
  readonly narrowings: readonly Narrowing[];
  readonly labels: readonly LabelRule[];
  readonly budgets: readonly CompiledBudget[];
  /** The rules about results, in the order of ids. */
  readonly results: readonly CompiledResultRule[];
  /** True when a rule about results masks: only then arguments may have masks. */
  readonly masks: boolean;
  /** The kinds that conditions on arguments look for. */
  readonly finds: readonly Finding[];
  /** The rules with conditions on earlier calls. */
  readonly temporal: readonly CompiledRule[];
  /** The NATS users that may start each agent, and those whose statements about a run's origin are trusted. */
  readonly starts: StartRules;
  readonly rights: Bundle["rights"];
  readonly approvers: Bundle["approvers"];
  /** The allow rules that state who has to approve, in the order of ids. */
  readonly approving: readonly ApprovingRule[];
  /** The members of the groups of approvers, globs over user names. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly people: People;
  /** The file accesses that a rule names; the bundle does not decide about the others. */
  readonly fileAccesses: ReadonlySet<FileAccess>;
  /** Null means the tool's own default, see `default-tier.ts`. */
  readonly defaultTier: ApprovalTier | null;
}

export interface CompiledRule {
  readonly id: string;
  readonly effect: "allow" | "deny";
  readonly note: string | null;
  /** Globs; null is anyone. */
  readonly agents: readonly string[] | null;
  readonly users: readonly string[] | null;
  readonly roles: readonly string[] | null;
  readonly channels: readonly string[] | null;
  readonly groups: readonly string[] | null;
  /** True for an allow rule that is about replayed runs, too. */
  readonly replayed: boolean;
  /** At least one of these; null is any. */
  readonly anyLabel: readonly string[] | null;
  /** None of these. */
  readonly notLabels: readonly string[];
  /** Set by an allow rule that states an approval; null otherwise. */
  readonly tier: ApprovalTier | null;
  /** The lifetime of an approval for a session, in milliseconds. */
  readonly ttlMs: number;
  /** The people who have to approve; null when one approver is enough. */
  readonly approve: Approve | null;
  /** The tools as written in the file; null matches every tool, an empty list none. */
  readonly tools: readonly string[] | null;
  /** The parsed patterns of `tools` and `servers`; a single null matches every tool. */
  readonly patterns: readonly (ToolPattern | null)[];
  /** The MCP features, other than tools, that the rule selects. */
  readonly features: readonly FeaturePattern[];
  /** True for a deny rule that names neither tools nor features: it applies to features too. */
  readonly isAboutEverything: boolean;
  readonly conditions: readonly CompiledCondition[];
  /** The kinds of masks in the arguments that the call gets the values of. */
  readonly unmask: readonly Finding[];
}

/** A rule about results. The selectors are those of a rule without conditions. */
export interface CompiledResultRule {
  readonly selector: CompiledRule;
  readonly finds: readonly Finding[];
  readonly effect: ResultEffect;
}

export type ApprovingRule = CompiledRule & { readonly approve: Approve };

/** One rule under one of its tool patterns; null is every tool. */
export interface RuleEntry {
  readonly rule: CompiledRule;
  readonly pattern: ToolPattern | null;
}

/** A tool as rules match it. `shown` is its name in the catalogue without the server, which may be shortened. */
export interface Target {
  readonly ref: ToolRef;
  readonly shown: string;
  /** The labels that administrators gave the tool, from the tool's server and from the bundle. */
  readonly labels: ReadonlySet<string>;
}

/**
 * The entries of all rules with one effect, each in the most specific table its pattern allows, so a decision looks only at rules
 * that could match the tool. Every list is in the order of rule ids.
 */
export interface RuleIndex {
  /** Patterns without wildcards, by server and tool name. */
  readonly exact: ReadonlyMap<string, readonly RuleEntry[]>;
  /** Patterns with wildcards in the tool's name only, by server and the text before the first wildcard. */
  readonly byPrefix: ReadonlyMap<string, readonly RuleEntry[]>;
  /** The lengths of such beginnings, by server: with them a name finds its entries without a search. */
  readonly prefixLengths: ReadonlyMap<string, ReadonlySet<number>>;
  readonly anywhere: readonly RuleEntry[];
}

/** The lifetime of an approval for a session when neither rule nor bundle sets it. */
const DEFAULT_TTL_MS = 30 * 60_000;

export function compileBundle(bundle: Bundle): CompiledBundle {
  // Rules are sorted by id, so that of several matching rules the same one is named however the file is ordered.
  const ttlMs = bundle.defaults?.ttl ?? DEFAULT_TTL_MS;
  const lists = bundle.lists ?? {};
  const rules = bundle.rules
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((rule) => compileRule(rule, ttlMs, lists));
  return {
    digest: bundleDigest(bundle),
    ruleCount: rules.length,
    rules,
    deny: indexOf(rules.filter((rule) => rule.effect === "deny")),
    allow: indexOf(rules.filter((rule) => rule.effect === "allow")),
    narrowings: compileNarrowings(bundle),
    labels: compileLabels(bundle),
    budgets: compileBudgets(bundle),
    results: (bundle.results ?? [])
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ finds, effect, ...selectors }) => ({
        selector: compileRule({ ...selectors, effect: "deny" }, ttlMs, lists),
        finds,
        effect,
      })),
    masks: bundle.results?.some(({ effect }) => effect === "mask") ?? false,
    finds: [
      ...new Set(rules.flatMap(({ conditions }) => conditions.flatMap(({ finds }) => finds ?? []))),
    ],
    temporal: rules.filter(({ conditions }) =>
      conditions.some(({ window }) => window !== undefined),
    ),
    starts: { starters: bundle.starters, origins: bundle.origins },
    rights: bundle.rights,
    approvers: bundle.approvers,
    approving: rules.filter((rule): rule is ApprovingRule => rule.approve !== null),
    groups: new Map(bundle.groups?.map(({ id, users }) => [id, users])),
    people: compilePeople(bundle),
    fileAccesses: namedFileAccesses(rules),
    defaultTier: bundle.defaults?.approval ?? null,
  };
}

/** A pattern with wildcards names no file access: a rule about `*` or `*_file` was written about tools. */
function namedFileAccesses(rules: readonly CompiledRule[]): ReadonlySet<FileAccess> {
  const patterns = rules.flatMap((rule) => rule.patterns);
  const isNamed = (access: FileAccess): boolean =>
    patterns.some((pattern) => pattern?.kind === "bare" && pattern.name === access);
  return new Set(FILE_ACCESSES.filter(isNamed));
}

/**
 * Returns which approval a call of the tool needs when the rule allows it; null stands for a feature that is not a tool. Only a rule's
 * own `approval` is about a file access: the bundle's default is about calls of tools.
 */
export function tierOf(
  bundle: CompiledBundle,
  rule: CompiledRule,
  tool: ToolRef | null,
): ApprovalTier {
  if (tool !== null && fileAccessOf(tool) !== null) return rule.tier ?? "auto";
  return rule.tier ?? bundle.defaultTier ?? (tool === null ? "auto" : defaultTier(tool));
}

/** `serverLabels` are those of the tool's server. */
export function targetOf(
  bundle: Pick<CompiledBundle, "labels">,
  ref: ToolRef,
  serverLabels: readonly string[] | undefined,
): Target {
  // Rules are written in NFC, so names are compared in it.
  const tool = ref.tool.normalize("NFC");
  const shown = ref.server === null ? ref.name : ref.name.slice(`mcp__${ref.server}__`.length);
  const labels = labelsOf(bundle.labels, ref, serverLabels);
  return { ref: tool === ref.tool ? ref : { ...ref, tool }, shown, labels };
}

/** The lists that may hold rules about a tool. */
export function entriesFor(index: RuleIndex, target: Target): (readonly RuleEntry[])[] {
  const { server, tool } = target.ref;
  const lists = [index.anywhere];
  const addList = (list: readonly RuleEntry[] | undefined) => {
    if (list !== undefined) lists.push(list);
  };
  for (const name of target.shown === tool ? [tool] : [tool, target.shown]) {
    addList(index.exact.get(keyOf(server, name)));
    if (server === null) continue;
    for (const length of index.prefixLengths.get(server) ?? []) {
      if (length <= name.length) addList(index.byPrefix.get(keyOf(server, name.slice(0, length))));
    }
  }
  return lists;
}

/** True when the entry's pattern selects the tool. */
export function selectsTool({ pattern }: Pick<RuleEntry, "pattern">, { ref }: Target): boolean {
  return pattern === null || matchesTool(pattern, ref);
}

export function selectsLabels(
  { anyLabel, notLabels }: Pick<CompiledRule, "anyLabel" | "notLabels">,
  labels: ReadonlySet<string>,
): boolean {
  if (anyLabel !== null && !anyLabel.some((label) => labels.has(label))) return false;
  return notLabels.length === 0 || !notLabels.some((label) => labels.has(label));
}

function indexOf(rules: readonly CompiledRule[]): RuleIndex {
  const exact = new Map<string, RuleEntry[]>();
  const byPrefix = new Map<string, RuleEntry[]>();
  const prefixLengths = new Map<string, Set<number>>();
  const anywhere: RuleEntry[] = [];
  for (const entry of rules.flatMap(entriesOf)) {
    const { pattern } = entry;
    if (pattern?.kind === "server" && isLiteral(pattern.server)) {
      const prefix = literalStart(pattern.tool);
      if (prefix === pattern.tool) {
        listAt(exact, keyOf(pattern.server, pattern.tool)).push(entry);
      } else {
        listAt(byPrefix, keyOf(pattern.server, prefix)).push(entry);
        const lengths = prefixLengths.get(pattern.server) ?? new Set();
        prefixLengths.set(pattern.server, lengths.add(prefix.length));
      }
    } else if (pattern?.kind === "bare" && isLiteral(pattern.name)) {
      listAt(exact, keyOf(null, pattern.name)).push(entry);
    } else {
      anywhere.push(entry);
    }
  }
  return { exact, byPrefix, prefixLengths, anywhere };
}

function compileRule(rule: Rule, ttlMs: number, lists: Lists): CompiledRule {
  const { who, what } = rule;
  const patterns = toolPatternsOf(what);
  const isBeside = what?.servers !== undefined;
  return {
    id: rule.id,
    effect: rule.effect,
    note: rule.note ?? null,
    agents: who?.agents ?? null,
    users: who?.users ?? null,
    roles: who?.roles ?? null,
    channels: who?.channels ?? null,
    groups: who?.groups ?? null,
    replayed: who?.replayed ?? false,
    anyLabel: what?.labels?.any ?? null,
    notLabels: what?.labels?.not ?? [],
    tier: rule.approval ?? (rule.approve === undefined ? null : "always"),
    ttlMs: rule.ttl ?? ttlMs,
    approve: rule.approve ?? null,
    tools: patterns === null ? null : isBeside ? patterns.map(writtenPattern) : (what?.tools ?? []),
    patterns: patterns ?? [null],
    features: featurePatternsOf(what),
    isAboutEverything: rule.effect === "deny" && what === undefined,
    conditions: (rule.when ?? []).map((condition) => compileCondition(condition, rule, lists)),
    unmask: rule.unmask ?? [],
  };
}

function writtenPattern(pattern: ToolPattern): string {
  return pattern.kind === "server" ? `${pattern.server}.${pattern.tool}` : "*";
}

function entriesOf(rule: CompiledRule): RuleEntry[] {
  return rule.patterns.map((pattern) => ({ rule, pattern }));
}

function keyOf(server: string | null, name: string): string {
  return `${server ?? ""}\0${name}`;
}

function isLiteral(pattern: string): boolean {
  return literalStart(pattern) === pattern;
}

/** Returns the text before the first wildcard. */
function literalStart(pattern: string): string {
  return pattern.slice(0, pattern.search(/[*?]|$/));
}

function listAt(map: Map<string, RuleEntry[]>, key: string): RuleEntry[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
