import { parsePointer } from "@switchyard/contracts/json-pointer";
import type { ArgumentCondition, Condition } from "../schema/condition-schema.ts";
import { compileCondition } from "../bundle/conditions.ts";

/** A part of a rule that Cedar has no words for. */
export class Inexpressible extends Error {
  override readonly name = "Inexpressible";
}

/** Writes one condition of a rule as a Cedar expression. Throws {@link Inexpressible} when there is none. */
export function conditionText(condition: Condition, effect: "allow" | "deny"): string {
  const negated = "not" in condition ? condition.not : condition;
  if (!("arg" in negated)) {
    const { arg, wanted } = compileCondition(condition, { id: "rule", effect });
    throw new Inexpressible(`${arg} ${wanted}`);
  }
  const { isThere, value } = argumentOf(negated.arg);
  const sign = negated === condition ? "" : "!";
  if (negated.op === "absent") return sign === "" ? `!(${isThere})` : `(${isThere})`;
  const other = "than" in negated && negated.than !== undefined ? argumentOf(negated.than) : null;
  const comparison = `${sign}(${comparisonText(negated, value, other?.value ?? null)})`;
  const present = other === null ? isThere : `${isThere} && ${other.isThere}`;
  const holds = `(${present} && ${comparison})`;
  return effect === "deny" && negated.required === true ? `(!(${present}) || ${holds})` : holds;
}

/** The text that tests whether an argument was sent, and the text that reads it. */
function argumentOf(pointer: string): { readonly isThere: string; readonly value: string } {
  let holder = "context.input";
  const present: string[] = [];
  for (const name of parsePointer(pointer) ?? []) {
    if (/^\d+$/.test(name)) throw new Inexpressible(`an entry of a list (${pointer})`);
    present.push(`${holder} has ${quoted(name)}`);
    holder =
      /^[A-Za-z_]\w*$/.test(name) && !RESERVED.has(name)
        ? `${holder}.${name}`
        : `${holder}[${quoted(name)}]`;
  }
  return { isThere: present.join(" && "), value: holder };
}

const RESERVED: ReadonlySet<string> = new Set([
  "true",
  "false",
  "if",
  "then",
  "else",
  "in",
  "like",
  "has",
  "is",
  "__cedar",
]);
const SIGNS = { eq: "==", lt: "<", lte: "<=", gt: ">", gte: ">=" } as const;

type Comparing = Exclude<ArgumentCondition, { op: "absent" }>;

function comparisonText(condition: Comparing, value: string, other: string | null): string {
  switch (condition.op) {
    case "eq":
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return `${value} ${SIGNS[condition.op]} ${other ?? literalText(condition.value)}`;
    case "in":
      return `[${condition.value.map(literalText).join(", ")}].contains(${value})`;
    case "prefix":
      return `${value} like "${patternText(condition.value)}*"`;
    case "glob":
      return likeText(value, condition.value);
    case "inFile":
    case "matches":
    case "maxLength":
    case "pathWithin":
    case "hostIn":
      throw new Inexpressible(
        `${condition.arg} ${condition.op} ${JSON.stringify(condition.value)}`,
      );
    default:
      return condition satisfies never;
  }
}

function literalText(value: string | number | boolean | null | undefined): string {
  if (typeof value === "number" && !Number.isSafeInteger(value))
    throw new Inexpressible(`the number ${value}, which is not whole`);
  if (value === null || value === undefined) throw new Inexpressible("null");
  return typeof value === "string" ? quoted(value) : String(value);
}

/** Writes a comparison with a pattern of rules, `==` when it has no asterisk. */
export function likeText(value: string, glob: string): string {
  if (glob.includes("?")) throw new Inexpressible(`a pattern with ? (${glob})`);
  if (!glob.includes("*")) return `${value} == ${quoted(glob)}`;
  return `${value} like "${glob.split("*").map(patternText).join("*")}"`;
}

function patternText(text: string): string {
  return quoted(text)
    .slice(1, -1)
    .replaceAll("*", String.raw`\*`);
}

/** Writes a text as Cedar does, whose escapes are not those of JSON. */
export function quoted(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll(/[^\P{Cc}]/gu, (control) => `\\u{${(control.codePointAt(0) ?? 0).toString(16)}}`);
  return `"${escaped}"`;
}
