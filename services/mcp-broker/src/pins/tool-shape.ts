import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { isRecord } from "@switchyard/contracts/json-record";

/** Members that only a reader uses, where their value is a text: a schema below `properties` may have such a name. */
const TEXTS: ReadonlySet<string> = new Set(["description", "title", "$comment"]);
/** Values of a schema, whose texts are not descriptions. */
const VALUES: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "_meta"]);
/** Lists whose order means nothing. */
const SETS: ReadonlySet<string> = new Set(["required", "enum", "type"]);

/**
 * True for definitions of a tool that differ in nothing but descriptions and titles, and in the order of lists without an order.
 */
export function haveSameShape(one: unknown, other: unknown): boolean {
  return shapeOf(one) === shapeOf(other);
}

function shapeOf(definition: unknown): string {
  return canonicalJson(withoutTexts(definition));
}

function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(
    ([key, inner]) => !(TEXTS.has(key) && typeof inner === "string"),
  );
  return Object.fromEntries(members.map(([key, inner]) => [key, memberOf(key, inner)]));
}

function memberOf(key: string, value: unknown): unknown {
  const kept = VALUES.has(key) ? value : withoutTexts(value);
  if (!SETS.has(key) || !Array.isArray(kept)) return kept;
  const texts = kept.map((item) => canonicalJson(item));
  return texts.toSorted();
}
