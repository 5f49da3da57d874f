import { Rule } from "../schema/bundle.ts";
import { alternativesOf, type Literal } from "./alternatives.ts";
import { EMPTY_DRAFT, whatOf, whoOf, withPart, type Draft } from "./assemble-rule.ts";
import type { CedarPolicy, Expression } from "./cedar-ast.ts";
import { CedarSyntaxError } from "./cedar-tokens.ts";
import { nameOf } from "./expression-words.ts";
import { parseCedar } from "./parse-cedar.ts";
import { NEVER, type Context } from "./rule-part.ts";
import { toolOfAction, type ToolOfAction } from "./tool-of-action.ts";
import { writtenCondition } from "./translate-history.ts";
import { translateLiteral } from "./translate-literal.ts";

/** A policy, or a part of one, that the rules do not express as it is written. */
export interface ImportNote {
  readonly line: number;
  readonly policy: string;
  /**
   * `left-out`: a permit, or a forbid that is about no call here, has no rule. `stricter`: its rules allow less. `failed`: a forbid has
   * no rule that denies as much, so that the rules must not be used.
   */
  readonly kind: "left-out" | "stricter" | "failed";
  readonly reason: string;
}

export interface Imported {
  readonly policies: number;
  readonly rules: readonly ImportedRule[];
  readonly notes: readonly ImportNote[];
}

/** A rule in the form of a policy file. */
export type ImportedRule = Readonly<Record<string, unknown>> & { readonly id: string };

export interface ImportOptions {
  /** The resource of the policies that stands for this installation, such as `AgentCore::Gateway::"arn:…"`. */
  readonly resource?: string | undefined;
}

/** Translates the policies of a file of Cedar or Dogwood into rules that allow at most as much. */
export function importCedar(text: string, { resource }: ImportOptions = {}): Imported {
  const read = readPolicies(text);
  if (!Array.isArray(read)) return { policies: 0, rules: [], notes: [read] };
  const ids = new Set<string>();
  const rules: ImportedRule[] = [];
  const notes: ImportNote[] = [];
  for (const policy of read) {
    const name = nameOfPolicy(policy);
    const found = translatePolicy(policy, resource ?? null);
    for (const { kind, reason } of found.notes)
      notes.push({ line: policy.line, policy: name, kind, reason });
    for (const rule of found.rules) rules.push({ id: freeId(name, ids), ...rule });
  }
  return { policies: read.length, rules, notes };
}

function readPolicies(text: string): CedarPolicy[] | ImportNote {
  try {
    return parseCedar(text);
  } catch (error) {
    if (!(error instanceof CedarSyntaxError)) throw error;
    return { line: error.line, policy: "", kind: "failed", reason: error.message };
  }
}

function nameOfPolicy({ annotations, line }: CedarPolicy): string {
  const given = (annotations.get("id") ?? "").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  // ASCII only, so no character is cut in half.
  const [short = ""] = /^.{0,56}(?<!-)/.exec(given.replaceAll(/^-+|-+$/g, "")) ?? [];
  return short === "" ? `line-${line}` : short;
}

function freeId(name: string, taken: Set<string>): string {
  let id = name;
  for (let number = 2; taken.has(id); number += 1) id = `${name}-${number}`;
  taken.add(id);
  return id;
}

type Note = Pick<ImportNote, "kind" | "reason">;
interface Translation {
  readonly rules: readonly object[];
  readonly notes: readonly Note[];
}

function translatePolicy(policy: CedarPolicy, resource: string | null): Translation {
  const isPermit = policy.effect === "permit";
  const context: Context = { isPermit, resource, ownTools: ownToolsOf(policy) };
  const whole = policy.conditions.reduce<Expression>(
    (left, right) => ({ kind: "and", left, right }),
    { kind: "literal", value: true },
  );
  const alternatives = alternativesOf(whole, false, isPermit);
  if (alternatives === null) {
    const reason = "it has more than 32 alternatives; split it";
    return { rules: [], notes: [{ kind: isPermit ? "left-out" : "failed", reason }] };
  }
  const translated = alternatives.map((literals) =>
    translateAlternative(literals, policy, context),
  );
  const rules = translated.flatMap((one) => one.rules);
  const notes = distinct(translated.flatMap((one) => one.notes));
  if (rules.length > 0 || notes.some(({ kind }) => kind === "failed"))
    return { rules, notes: notes.map((note) => partNote(note, isPermit && rules.length > 0)) };
  const isSilent = notes.length === 0;
  return {
    rules,
    notes: isSilent ? [{ kind: "left-out", reason: "it is about no call here" }] : notes,
  };
}

/** When only one alternative of a permit is left out, the permit is stricter. */
function partNote({ kind, reason }: Note, isPart: boolean): Note {
  return isPart && kind === "left-out"
    ? { kind: "stricter", reason: `an alternative is left out: ${reason}` }
    : { kind, reason };
}

function translateAlternative(
  literals: readonly Literal[],
  policy: CedarPolicy,
  context: Context,
): Translation {
  const { isPermit } = context;
  let draft: Draft = EMPTY_DRAFT;
  const notes: Note[] = [];
  const dropped: Note[] = [];
  for (const literal of literals) {
    const part = translateLiteral(literal, context);
    if (part === NEVER) return { rules: [], notes: [] };
    const merged = "reason" in part ? part.reason : withPart(draft, part);
    if (typeof merged !== "string") {
      draft = merged;
      if ("stricter" in part && part.stricter !== undefined)
        notes.push({ kind: "stricter", reason: part.stricter });
    } else if (isPermit) return { rules: [], notes: [{ kind: "left-out", reason: merged }] };
    else
      dropped.push({
        kind: "stricter",
        reason: `it denies without ${nameOf(literal.atom)}: ${merged}`,
      });
  }
  if (draft.tools?.length === 0) return { rules: [], notes: [] };
  const what = whatOf(draft);
  if (typeof what === "string")
    return { rules: [], notes: [{ kind: isPermit ? "left-out" : "failed", reason: what }] };
  const who = whoOf(draft);
  if (dropped.length > 0 && who === undefined && what === undefined && draft.when.length === 0) {
    const reasons = dropped.map(({ reason }) => reason).join("; ");
    return {
      rules: [],
      notes: [{ kind: "failed", reason: `it would deny every call: ${reasons}` }],
    };
  }
  return checked(
    { ...headOf(policy), ...(who && { who }), ...(what && { what }), ...whenOf(draft) },
    policy,
    [...notes, ...dropped],
  );
}

function headOf({ effect, annotations }: CedarPolicy) {
  if (effect === "forbid") return { effect: "deny" };
  const approval = annotations.get("approval");
  return {
    effect: "allow",
    approval: approval === "session" || approval === "always" ? approval : "auto",
  };
}

function whenOf({ when }: Draft): { when?: readonly unknown[] } {
  return when.length === 0 ? {} : { when: when.map(writtenCondition) };
}

/** A rule that the schema refuses would refuse the whole bundle. */
function checked(rule: object, { effect }: CedarPolicy, notes: readonly Note[]): Translation {
  const parsed = Rule.safeParse({ id: "rule", ...rule });
  if (parsed.success) return { rules: [rule], notes };
  const [issue] = parsed.error.issues;
  const reason = `${issue?.path.join(".") ?? "the rule"} ${issue?.message ?? "is refused"}`;
  return { rules: [], notes: [{ kind: effect === "permit" ? "left-out" : "failed", reason }] };
}

function ownToolsOf({ conditions }: CedarPolicy): readonly ToolOfAction[] | null {
  for (const condition of conditions) {
    const scope =
      condition.kind === "compare"
        ? [condition.left, condition.right]
        : condition.kind === "in"
          ? [condition.of, condition.set]
          : [];
    const [of, named] = scope;
    if (of?.kind !== "variable" || of.name !== "action") continue;
    const entities = named?.kind === "set" ? named.items : [named];
    const tools = entities.map((entity) =>
      entity?.kind === "entity" ? toolOfAction(entity) : null,
    );
    return tools.every((tool) => tool !== null) ? tools : null;
  }
  return null;
}

function distinct(notes: readonly Note[]): Note[] {
  return [...new Map(notes.map((note) => [JSON.stringify(note), note])).values()];
}

/** Writes rules as a policy file that begins with the notes. */
export function rulesText(imported: Imported, source: string): string {
  const notes = imported.notes.map(
    ({ line, policy, kind, reason }) =>
      `#   line ${line}, ${policy}: ${kind}: ${reason.replaceAll(/\s+/g, " ")}`,
  );
  const rules = imported.rules.map((rule) => {
    const [first = "", ...others] = Object.entries(rule).map(
      ([key, value]) => `${key}: ${JSON.stringify(value)}`,
    );
    return [`  - ${first}`, ...others.map((line) => `    ${line}`)].join("\n");
  });
  const head = `# Imported from ${source.replaceAll(/\s+/g, " ")}: ${imported.policies} policies, ${imported.rules.length} rules.`;
  const different = notes.length === 0 ? [] : ["# Different from the policies:", ...notes];
  return [head, ...different, "version: 1", "rules:", ...rules, ""].join("\n");
}
