import { matchesGlob } from "@switchyard/contracts/glob";
import { locate, parsePointer, type Located } from "@switchyard/contracts/json-pointer";
import type { Condition } from "../schema/condition-schema.ts";
import { hostIn } from "../values/host-in.ts";
import { pathWithin } from "../values/path-within.ts";

/**
 * The result of checking one condition against the arguments of a call.
 *
 * `incomparable` is an argument that is present and cannot be judged: it has another type than the rule compares with, is too
 * long, or is an ambiguous path. An allow rule treats it as a mismatch, a deny rule as a match, so a caller gains nothing by
 * sending malformed arguments.
 */
export type Verdict = "holds" | "fails" | "missing" | "incomparable";

export interface CompiledCondition {
  readonly arg: string;
  readonly required: boolean;
  /** The expected value as shown to people: `lte 10`. */
  readonly wanted: string;
  /** Finds the argument that the condition checks. */
  readonly locate: (args: Readonly<Record<string, unknown>>) => Located;
  readonly judge: (args: Readonly<Record<string, unknown>>) => Verdict;
}

/** Longer texts are incomparable, which bounds the cost of one condition to the longest glob times this. */
const MAX_TEXT_LENGTH = 16_384;

/** Prepares a condition of a valid bundle: the pointer is parsed once. */
export function compileCondition(condition: Condition): CompiledCondition {
  const tokens = parsePointer(condition.arg) ?? [];
  const required = condition.op !== "absent" && condition.required === true;
  const compare = condition.op === "absent" ? null : comparisonOf(condition);
  const judge = (args: Readonly<Record<string, unknown>>): Verdict => {
    const located = locate(args, tokens);
    if (located.kind === "blocked") return "incomparable";
    if (compare === null) return located.kind === "missing" ? "holds" : "fails";
    return located.kind === "missing" ? "missing" : compare(located.value);
  };
  return {
    arg: condition.arg,
    required,
    wanted: wantedBy(condition),
    locate: (args) => locate(args, tokens),
    judge,
  };
}

function wantedBy(condition: Condition): string {
  if (condition.op === "absent") return "absent";
  return `${condition.op} ${JSON.stringify(condition.value)}`;
}

type Comparing = Exclude<Condition, { op: "absent" }>;
type Scalar = string | number | boolean | null;

function comparisonOf(condition: Comparing): (actual: unknown) => Verdict {
  switch (condition.op) {
    case "eq":
      return oneOf([condition.value]);
    case "in":
      return oneOf(condition.value);
    case "prefix":
      return text((actual) => actual.startsWith(condition.value));
    case "glob":
      return text((actual) => matchesGlob(condition.value, actual));
    case "lte":
      return number((actual) => actual <= condition.value);
    case "gte":
      return number((actual) => actual >= condition.value);
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
