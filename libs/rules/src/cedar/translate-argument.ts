import type { ArgumentCondition, Condition } from "../schema/condition-schema.ts";
import type { Comparison, Expression } from "./cedar-ast.ts";

const OPERATORS = { "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" } as const;
const FLIPPED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!=" } as const;
/** The comparisons of decimals, which are methods in Cedar. */
const METHODS: Readonly<Record<string, Comparison>> = {
  lessThan: "<",
  lessThanOrEqual: "<=",
  greaterThan: ">",
  greaterThanOrEqual: ">=",
};

/** Translates a condition on `context.input`; null when it is none that a rule can express. */
export function translateArgument(
  atom: Expression,
  isNegated: boolean,
): { readonly when: readonly Condition[] } | null {
  const condition = conditionOf(atom);
  if (condition === null) return null;
  const { of, isOpposite = false } = condition;
  return { when: [isNegated === isOpposite ? of : { not: of }] };
}

interface Found {
  readonly of: ArgumentCondition;
  /** True when the atom is the opposite of the condition. */
  readonly isOpposite?: boolean;
}

function conditionOf(atom: Expression): Found | null {
  switch (atom.kind) {
    case "has":
      return existence(atom);
    case "like":
      return pattern(atom);
    case "compare":
      return comparison(atom.op, atom.left, atom.right);
    case "call":
      return callCondition(atom);
    case "attribute": {
      const arg = pointerOf(atom);
      return arg === null ? null : { of: { arg, op: "eq", value: true } };
    }
    default:
      return null;
  }
}

/** Returns the pointer of an argument; null for anything else. */
export function pointerOf(expression: Expression): string | null {
  if (expression.kind !== "attribute") return null;
  const { of, name } = expression;
  const escaped = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (of.kind === "attribute") {
    if (of.name === "input" && of.of.kind === "variable" && of.of.name === "context")
      return escaped;
    const holder = pointerOf(of);
    return holder === null ? null : `${holder}${escaped}`;
  }
  return null;
}

function existence({ of, path }: Expression & { readonly kind: "has" }): Found | null {
  const whole = path.reduce<Expression>(
    (holder, name) => ({ kind: "attribute", of: holder, name }),
    of,
  );
  const arg = pointerOf(whole);
  return arg === null ? null : { of: { arg, op: "absent" }, isOpposite: true };
}

function pattern({ of, parts }: Expression & { readonly kind: "like" }): Found | null {
  const arg = pointerOf(of);
  if (arg === null) return null;
  const glob = parts.join("*");
  const isGlob = parts.every((part) => !/[*?]/.test(part)) && glob.length > 0 && glob.length <= 256;
  if (isGlob) return { of: { arg, op: "glob", value: glob } };
  const escaped = parts.map((part) => part.replaceAll(/[^A-Za-z0-9 ]/gu, escapedCharacter));
  const value = `(?s)${escaped.join(".*")}`;
  return value.length > 512 ? null : { of: { arg, op: "matches", value } };
}

function escapedCharacter(character: string): string {
  return `\\x{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function comparison(op: Comparison, left: Expression, right: Expression): Found | null {
  const arg = pointerOf(left);
  if (arg === null) return pointerOf(right) === null ? null : comparison(FLIPPED[op], right, left);
  const isOpposite = op === "!=";
  const isEquality = op === "==" || op === "!=";
  const than = pointerOf(right);
  if (than !== null && than !== arg)
    return { of: { arg, op: isEquality ? "eq" : OPERATORS[op], than }, isOpposite };
  const value = valueOf(right);
  if (value === null) return null;
  if (isEquality) return { of: { arg, op: "eq", value }, isOpposite };
  return typeof value === "number" ? { of: { arg, op: OPERATORS[op], value } } : null;
}

/** A text, number or boolean; null for anything else. */
function valueOf(expression: Expression): string | number | boolean | null {
  if (expression.kind === "literal")
    return typeof expression.value === "number" && !Number.isSafeInteger(expression.value)
      ? null
      : expression.value;
  const isDecimal =
    expression.kind === "call" && expression.of === null && expression.name === "decimal";
  const [text] = isDecimal ? expression.args : [];
  if (text?.kind !== "literal" || typeof text.value !== "string") return null;
  return /^-?\d{1,15}\.\d{1,4}$/.test(text.value) ? Number(text.value) : null;
}

function callCondition({ of, name, args }: Expression & { readonly kind: "call" }): Found | null {
  const [argument] = args;
  if (of === null || argument === undefined || args.length !== 1) return null;
  const op = METHODS[name];
  if (op !== undefined) return comparison(op, of, argument);
  const arg = pointerOf(argument);
  if (name !== "contains" || of.kind !== "set" || arg === null) return null;
  const values = of.items.map(valueOf);
  const value = values.filter((item) => item !== null);
  if (value.length === 0 || value.length !== values.length || value.length > 1_000) return null;
  return { of: { arg, op: "in", value } };
}
