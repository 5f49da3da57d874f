import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { compileLinearRegex } from "./linear-regex.ts";
import { FORMATS } from "./text-formats.ts";

/** The result of reading an assertion: its keywords in the schema that is compiled, or the reason why it is not checked. */
export type ReadAssertion =
  | { readonly keywords: JsonRecord; readonly weight: number }
  | { readonly problem: string; readonly weight?: number };

const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const NUMBERS = new Set(["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"]);
const COUNTS = new Set([
  "maxItems",
  "minItems",
  "maxContains",
  "minContains",
  "maxProperties",
  "minProperties",
]);
const MAX_VALUE_NODES = 2_000;

/** Keywords without an effect on which values fit: those of JSON Schema, OpenAPI, and the generators of both. */
const ANNOTATIONS = new Set([
  "$schema",
  "$id",
  "id",
  "$anchor",
  "$dynamicAnchor",
  "$comment",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "example",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "discriminator",
  "externalDocs",
  "xml",
  "propertyOrdering",
]);
/** Keywords that are read elsewhere: those that hold schemas, refer to them, or have a meaning only beside others. */
const OTHERS = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "nullable",
  "not",
  "if",
  "then",
  "else",
  "allOf",
  "anyOf",
  "oneOf",
  "properties",
  "patternProperties",
  "additionalProperties",
  "propertyNames",
  "dependentSchemas",
  "dependencies",
  "items",
  "prefixItems",
  "additionalItems",
  "contains",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const OF_VALUES = new Set([
  "type",
  "enum",
  "const",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "uniqueItems",
  "required",
  "dependentRequired",
]);

/** True for a keyword that is checked, and for one without an effect on a check. */
export function isKnownKeyword(keyword: string): boolean {
  const isChecked = NUMBERS.has(keyword) || COUNTS.has(keyword) || OF_VALUES.has(keyword);
  return isChecked || OTHERS.has(keyword) || ANNOTATIONS.has(keyword) || keyword.startsWith("x-");
}

/** Reads one keyword that asserts something about a value itself. Null for any other keyword. */
export function readAssertion(
  keyword: string,
  value: unknown,
  hasFormats = false,
): ReadAssertion | null {
  if (NUMBERS.has(keyword))
    return typeof value === "number" ? kept({ [keyword]: value }) : wrong("is not a number");
  if (COUNTS.has(keyword))
    return isCount(value) ? kept({ [keyword]: value }) : wrong("is not a whole number");
  switch (keyword) {
    case "type":
      return readType(value);
    case "enum":
      return readEnum(value);
    case "const":
      return readValues("const", "yardConst", value);
    case "multipleOf":
      return typeof value === "number" && value > 0
        ? kept({ yardMultiple: value })
        : wrong("is not a positive number");
    case "minLength":
      return isCount(value) ? kept({ yardLength: { min: value } }) : wrong("is not a whole number");
    case "maxLength":
      return isCount(value) ? kept({ yardLength: { max: value } }) : wrong("is not a whole number");
    case "pattern":
      return readPattern(value);
    case "format":
      return hasFormats ? readFormat(value) : null;
    case "uniqueItems":
      return value === true ? kept({ yardUnique: true }) : null;
    case "required":
      return isNames(value)
        ? kept({ required: [...new Set(value)] })
        : wrong("is not a list of names");
    case "dependentRequired":
    case "dependencies":
      return readDependencies(value);
    default:
      return null;
  }
}

function readType(value: unknown): ReadAssertion {
  const types = Array.isArray(value) ? value : [value];
  const isKnown =
    types.length > 0 && types.every((type) => typeof type === "string" && TYPES.has(type));
  return isKnown
    ? kept({ type: [...new Set(types)] })
    : wrong("names a type that JSON Schema does not have");
}

function readEnum(value: unknown): ReadAssertion {
  if (!Array.isArray(value) || value.length === 0) return wrong("is not a list of values");
  return readValues("enum", "yardEnum", value);
}

function readValues(keyword: string, own: string, value: unknown): ReadAssertion {
  const weight = nodesOf(value);
  if (weight > MAX_VALUE_NODES) return wrong(`has more than ${MAX_VALUE_NODES} values`);
  return { keywords: valueKeyword(keyword, own, value), weight: Math.ceil(weight / 16) };
}

/** The compiler calls methods of values to compare them, and fails on those that have a member named `toString` or `valueOf`. */
function valueKeyword(keyword: string, own: string, value: unknown): JsonRecord {
  const values = keyword === "enum" && Array.isArray(value) ? value : [value];
  const isPlain = values.every((item) => typeof item !== "object" || item === null);
  return { [isPlain ? keyword : own]: value };
}

function readPattern(value: unknown): ReadAssertion {
  if (typeof value !== "string") return wrong("is not a string");
  const compiled = compileLinearRegex(value);
  if ("problem" in compiled) return compiled;
  return { keywords: { pattern: value }, weight: compiled.weight };
}

function readFormat(value: unknown): ReadAssertion {
  if (typeof value === "string" && FORMATS.has(value)) return kept({ yardFormat: value });
  return wrong(`is none of the formats ${[...FORMATS.keys()].join(", ")}`);
}

function readDependencies(value: unknown): ReadAssertion | null {
  if (!isRecord(value)) return wrong("is not a map");
  const lists = Object.entries(value).filter(([, names]) => isNames(names));
  return lists.length === 0 ? null : kept({ dependentRequired: Object.fromEntries(lists) });
}

function kept(keywords: JsonRecord): ReadAssertion {
  return { keywords, weight: 0 };
}

function wrong(problem: string): ReadAssertion {
  return { problem };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

/** Counts the values within a value, up to a little above the limit. */
function nodesOf(value: unknown): number {
  const waiting: unknown[] = [value];
  let nodes = 0;
  while (waiting.length > 0 && nodes <= MAX_VALUE_NODES) {
    const next = waiting.pop();
    nodes += 1;
    if (typeof next === "object" && next !== null)
      for (const inner of Object.values(next).slice(0, MAX_VALUE_NODES + 1)) waiting.push(inner);
  }
  return nodes;
}
