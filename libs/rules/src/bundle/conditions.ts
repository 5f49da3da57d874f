import { compileEarlier, compileWindow, type CompiledWindow } from "../budgets/compile-window.ts";
import { findingsText, masksIn, type Finding } from "@switchyard/contracts/policy/findings";
import { matchesGlob } from "@switchyard/contracts/glob";
import { locate, parsePointer, type Located } from "@switchyard/contracts/json-pointer";
import type { ArgumentCondition, Condition } from "../schema/condition-schema.ts";
import type { Bundle, Rule } from "../schema/bundle.ts";
import type { At } from "../schema/time-schema.ts";
import { hostIn } from "../values/host-in.ts";
import { compileLinearPattern } from "../values/linear-pattern.ts";
import { pathWithin } from "../values/path-within.ts";
import { readRecordedValue, type RecordedValue } from "../values/recorded-value.ts";
import { compileTimes } from "./compile-times.ts";
import { findingsInArguments } from "./findings-in-arguments.ts";

/**
 * The result of checking one condition against the arguments of a call.
 *
 * `incomparable` is an argument that is present and cannot be judged: it has another type than the rule compares with, is too
 * long, or is an ambiguous path. An allow rule treats it as a mismatch, a deny rule as a match, so a caller gains nothing by
 * sending malformed arguments. `unknown` is the answer about a value that the audit has not recorded; only a replay has it.
 */
export type Verdict = "holds" | "fails" | "missing" | "incomparable" | "unknown";

export interface CompiledCondition {
  /** The subject as shown to people: the pointer of an argument, or `time`. */
  readonly arg: string;
  readonly required: boolean;
  /** The expected value as shown to people: `lte 10`, `not lte 10`. */
  readonly wanted: string;
  /** The value that the call has, as shown to people. */
  readonly got: (call: Judgeable) => string;
  readonly judge: (call: Judgeable) => Verdict;
  /** Set for a condition on what is found in the arguments. */
  readonly finds?: readonly Finding[];
  /** Set for a condition on earlier calls. */
  readonly window?: CompiledWindow;
  /** Set for a condition that compares an argument with these for equality. */
  readonly constants?: readonly Scalar[];
}

/** The parts of a call that conditions are about. */
export interface Judgeable {
  readonly args: Readonly<Record<string, unknown>>;
  readonly facts?: CallFacts | undefined;
}

/** The facts about a call beside its arguments. A condition about a fact that is left out is incomparable. */
export interface CallFacts {
  /** The time of the decision, in milliseconds since the Unix epoch. */
  readonly nowMs?: number;
  /** The earlier calls, as windows see them. */
  readonly windows?: WindowFacts;
  /** Set when a past call is replayed of which the audit does not have all values. */
  readonly recorded?: RecordedFacts;
}

export interface RecordedFacts {
  /** False: the call may have had more arguments. */
  readonly isComplete: boolean;
  /** For the rules of each effect, whether a condition whose answer is unknown counts as met. */
  readonly assume: { readonly allow: boolean; readonly deny: boolean };
}

export interface WindowFacts {
  judge(window: CompiledWindow): Verdict;
  /** The value of the window as shown to people. */
  shown(window: CompiledWindow): string;
}

/** The subject of conditions on the time of a call; the pointers of arguments begin with a slash. */
export const TIME = "time";

/** The subject of conditions on what is found in all arguments together. */
export const ARGUMENTS = "arguments";

/** Longer texts are incomparable, which bounds the cost of one condition to the longest glob times this. */
const MAX_TEXT_LENGTH = 16_384;

/** The entries of the files that `inFile` names, by name. */
export type Lists = NonNullable<Bundle["lists"]>;

/** Prepares a condition of a valid bundle: pointers, patterns and times are parsed once. */
export function compileCondition(
  condition: Condition,
  rule: Pick<Rule, "id" | "effect">,
  lists: Lists = {},
): CompiledCondition {
  if ("window" in condition) return compileHistory(compileWindow(condition.window, rule));
  if ("after" in condition) return compileHistory(compileEarlier(condition.after, rule, true));
  if ("neverAfter" in condition)
    return compileHistory(compileEarlier(condition.neverAfter, rule, false));
  if ("at" in condition) return compileAt(condition.at);
  if ("finds" in condition) return compileFinds(condition.finds);
  if ("not" in condition) return negated(compileCondition(condition.not, rule, lists));
  return compileArgument(condition, lists);
}

function compileHistory(window: CompiledWindow): CompiledCondition {
  const { subject, wanted, required } = window;
  return {
    arg: subject,
    required,
    wanted,
    got: ({ facts }) => facts?.windows?.shown(window) ?? "not known",
    judge: ({ facts }) => facts?.windows?.judge(window) ?? "incomparable",
    window,
  };
}

/** Arguments that are too long to be inspected are incomparable. */
function compileFinds(finds: readonly Finding[]): CompiledCondition {
  return {
    arg: ARGUMENTS,
    required: false,
    wanted: `finds ${finds.join(", ")}`,
    got({ args }) {
      const found = findingsInArguments(args, finds);
      return found === null ? "too long to be inspected" : findingsText(found) || "nothing found";
    },
    judge({ args, facts }) {
      if (facts?.recorded !== undefined) return "unknown";
      const found = findingsInArguments(args, finds);
      return found === null ? "incomparable" : verdict(Object.keys(found).length > 0);
    },
    finds,
  };
}

function compileArgument(condition: ArgumentCondition, lists: Lists): CompiledCondition {
  const { arg } = condition;
  const find = finder(arg);
  const common = {
    arg,
    required: condition.op !== "absent" && condition.required === true,
    wanted: wantedBy(condition),
    got: ({ args }: Judgeable) => shown(find(args)),
  };
  if (condition.op === "absent")
    return {
      ...common,
      judge({ args, facts }) {
        const { kind } = find(args);
        if (kind === "missing" && isPartial(facts)) return "unknown";
        return kind === "blocked" ? "incomparable" : verdict(kind === "missing");
      },
    };
  if ("than" in condition && condition.than !== undefined) {
    const { op, than } = condition;
    const findOther = finder(than);
    return {
      ...common,
      got: ({ args }) => `${shown(find(args))}, and ${than} is ${shown(findOther(args))}`,
      judge({ args, facts }) {
        const found = compareTwo(op, find(args), findOther(args));
        return found === "missing" && isPartial(facts) ? "unknown" : found;
      },
    };
  }
  const compare = comparisonOf(condition, lists);
  const constants = constantsOf(condition, lists);
  return {
    ...common,
    ...(constants !== null && { constants }),
    judge({ args, facts }) {
      const located = find(args);
      if (located.kind === "blocked") return "incomparable";
      if (located.kind === "missing") return isPartial(facts) ? "unknown" : "missing";
      const { value } = located;
      if (typeof value === "symbol") return judgeRecorded(condition, readRecordedValue(value));
      if (condition.op === "maxLength" && Array.isArray(value) && isPartial(facts))
        return "unknown";
      return isMasked(value) ? "incomparable" : compare(value);
    },
  };
}

/** True when the call may have had arguments that the audit does not have. */
function isPartial(facts: CallFacts | undefined): boolean {
  return facts?.recorded?.isComplete === false;
}

/** Returns the values that a condition compares with for equality; null for another condition. */
function constantsOf(condition: Comparing, lists: Lists): readonly Scalar[] | null {
  if (condition.op === "eq") return [condition.value ?? null];
  if (condition.op === "in") return condition.value;
  return condition.op === "inFile" ? (lists[condition.value] ?? []) : null;
}

/** Judges a value that is none of those that the condition compares with for equality. */
function judgeRecorded(condition: Comparing, recorded: RecordedValue | null): Verdict {
  if (recorded === null || !comparableKinds(condition).includes(recorded.kind))
    return "incomparable";
  const isEquality = ["eq", "in", "inFile"].includes(condition.op);
  return isEquality && recorded.digest !== null ? "fails" : "unknown";
}

function comparableKinds(condition: Comparing): string[] {
  switch (condition.op) {
    case "eq":
      return [kindOf(condition.value ?? null)];
    case "in":
      return condition.value.map(kindOf);
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return ["number"];
    default:
      return ["string"];
  }
}

/** A mask stands for a value that the policy does not see. */
function isMasked(value: unknown): boolean {
  return typeof value === "string" && masksIn(value).length > 0;
}

function finder(pointer: string): (args: Readonly<Record<string, unknown>>) => Located {
  const tokens = parsePointer(pointer) ?? [];
  return (args) => locate(args, tokens);
}

function shown(located: Located): string {
  if (located.kind === "found") return JSON.stringify(located.value) ?? String(located.value);
  return located.kind === "missing" ? "missing" : "below something that is not an object";
}

/** Turns a clear answer around. An argument that is missing or cannot be compared stays so: `not` must not help the caller. */
function negated({ judge, wanted, ...inner }: CompiledCondition): CompiledCondition {
  return {
    ...inner,
    wanted: `not ${wanted}`,
    judge(call) {
      const found = judge(call);
      if (found === "holds") return "fails";
      return found === "fails" ? "holds" : found;
    },
  };
}

function compileAt(at: At): CompiledCondition {
  const { isWithin: fits, wanted, shownAt } = compileTimes(at);
  return {
    arg: TIME,
    required: false,
    wanted: `within ${wanted}`,
    got: ({ facts }) => (facts?.nowMs === undefined ? "not known" : shownAt(facts.nowMs)),
    judge: ({ facts }) =>
      facts?.nowMs === undefined ? "incomparable" : verdict(fits(facts.nowMs)),
  };
}

function wantedBy(condition: ArgumentCondition): string {
  if (condition.op === "absent") return "absent";
  if ("than" in condition && condition.than !== undefined)
    return `${condition.op} ${condition.than}`;
  return `${condition.op} ${JSON.stringify(condition.value)}`;
}

type Comparing = Exclude<ArgumentCondition, { op: "absent" }>;
type Scalar = string | number | boolean | null;
type NumberOperator = "lt" | "lte" | "gt" | "gte";

/** Compares numbers; `eq` compares two scalars of one type. */
function compareTwo(op: NumberOperator | "eq", one: Located, other: Located): Verdict {
  if (one.kind === "blocked" || other.kind === "blocked") return "incomparable";
  if (one.kind === "missing" || other.kind === "missing") return "missing";
  if (isMasked(one.value) || isMasked(other.value)) return "incomparable";
  if (typeof one.value === "symbol" || typeof other.value === "symbol")
    return compareRecorded(op, one.value, other.value);
  if (op !== "eq") {
    const { value: limit } = other;
    return typeof limit === "number" ? ordered(op, limit)(one.value) : "incomparable";
  }
  const { value } = other;
  const isScalar = value === null || ["string", "number", "boolean"].includes(typeof value);
  const expected = typeof value === "string" ? normalized(value) : value;
  if (!isScalar || expected === undefined) return "incomparable";
  return oneOf([expected as Scalar])(one.value); // checked above
}

/** Compares two values of a past call, of which at least one is known by its digest alone. */
function compareRecorded(op: NumberOperator | "eq", one: unknown, other: unknown): Verdict {
  const [first, second] = [one, other].map(
    (value) => readRecordedValue(value) ?? { kind: kindOf(value), digest: "of a known value" },
  );
  if (first === undefined || first.kind !== second?.kind) return "incomparable";
  if (op !== "eq") return first.kind === "number" ? "unknown" : "incomparable";
  if (first.digest === null || second.digest === null) return "unknown";
  return verdict(first.digest === second.digest);
}

function ordered(op: NumberOperator, limit: number): (actual: unknown) => Verdict {
  switch (op) {
    case "lt":
      return number((actual) => actual < limit);
    case "lte":
      return number((actual) => actual <= limit);
    case "gt":
      return number((actual) => actual > limit);
    case "gte":
      return number((actual) => actual >= limit);
    default:
      return op satisfies never;
  }
}

function comparisonOf(condition: Comparing, lists: Lists): (actual: unknown) => Verdict {
  switch (condition.op) {
    case "eq":
      return oneOf([condition.value ?? null]);
    case "in":
      return oneOf(condition.value);
    case "inFile": {
      const entries = new Set(lists[condition.value]);
      return text((actual) => entries.has(actual));
    }
    case "prefix":
      return text((actual) => actual.startsWith(condition.value));
    case "glob":
      return text((actual) => matchesGlob(condition.value, actual));
    case "matches":
      return matching(condition.value);
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      // The schema requires one of `value` and `than`; a NaN compares with nothing.
      return ordered(condition.op, condition.value ?? Number.NaN);
    case "maxLength":
      return (actual) => hasAtMost(condition.value, actual);
    case "pathWithin":
      return (actual) => isWithin(condition.value, actual);
    case "hostIn":
      return (actual) => isOfHost(condition.value, actual);
    default:
      return condition satisfies never;
  }
}

function matching(pattern: string): (actual: unknown) => Verdict {
  const matches = compileLinearPattern(pattern);
  if (typeof matches === "string") throw new TypeError(matches); // excluded by the schema
  return text(matches);
}

function oneOf(values: readonly Scalar[]): (actual: unknown) => Verdict {
  const known = new Set<unknown>(values);
  const kinds = new Set(values.map(kindOf));
  return (actual) => {
    if (!kinds.has(kindOf(actual))) return "incomparable";
    const comparable = typeof actual === "string" ? normalized(actual) : actual;
    return comparable === undefined ? "incomparable" : verdict(known.has(comparable));
  };
}

function text(test: (actual: string) => boolean): (actual: unknown) => Verdict {
  return (actual) => {
    const comparable = typeof actual === "string" ? normalized(actual) : undefined;
    return comparable === undefined ? "incomparable" : verdict(test(comparable));
  };
}

function number(test: (actual: number) => boolean): (actual: unknown) => Verdict {
  return (actual) => (typeof actual === "number" ? verdict(test(actual)) : "incomparable");
}

/** Counts code points of a text, entries of an array. */
function hasAtMost(limit: number, actual: unknown): Verdict {
  if (Array.isArray(actual)) return verdict(actual.length <= limit);
  if (typeof actual !== "string") return "incomparable";
  // A code point is one or two UTF-16 units, so most texts need no counting.
  if (actual.length <= limit) return "holds";
  if (actual.length > 2 * limit) return "fails";
  let codePoints = 0;
  for (const _ of actual) codePoints += 1;
  return verdict(codePoints <= limit);
}

function isWithin(directory: string, actual: unknown): Verdict {
  const path = typeof actual === "string" ? normalized(actual) : undefined;
  if (path === undefined) return "incomparable";
  const containment = pathWithin(directory, path);
  return containment === "unclear" ? "incomparable" : verdict(containment === "inside");
}

function isOfHost(hosts: readonly string[], actual: unknown): Verdict {
  if (typeof actual !== "string") return "incomparable";
  const found = hostIn(hosts, actual);
  return found === "unclear" ? "incomparable" : verdict(found === "inside");
}

/** The text in the form that rules are written in (NFC), or undefined when it is too long to compare. */
function normalized(actual: string): string | undefined {
  return actual.length > MAX_TEXT_LENGTH ? undefined : actual.normalize("NFC");
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function verdict(holds: boolean): Verdict {
  return holds ? "holds" : "fails";
}
