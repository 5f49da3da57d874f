import { pointerToken } from "@switchyard/contracts/json-pointer";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import type { SchemaNote } from "@switchyard/service/json-schema/prepare-schema";
import { resolveReference } from "@switchyard/service/json-schema/schema-document";

/** A schema that MCP clients accept, and where it differs from the one that the server sent. */
export interface ClientSchema {
  /** The object that came in when nothing had to be changed. */
  readonly schema: JsonRecord;
  readonly notes: readonly SchemaNote[];
}

/**
 * Rewrites a server's schema so that clients neither refuse nor fail to compile it. Both official SDKs refuse a whole list of tools
 * for one `properties: null`, one boolean property schema, or one keyword whose value has the wrong type. A keyword that
 * JSON Schema gives no meaning in this form is dropped, and a boolean schema becomes the equal object. Everything else, unknown keywords
 * included, is passed on.
 */
export function clientSchema(root: JsonRecord): ClientSchema {
  const notes: SchemaNote[] = [];
  const schema = rewritten(root, { root, notes, where: "" });
  return notes.length === 0 ? { schema: root, notes } : { schema, notes };
}

interface Position {
  readonly root: JsonRecord;
  readonly notes: SchemaNote[];
  /** A JSON pointer into the schema. */
  readonly where: string;
}

/** The value of a keyword in its new form, or the reason why it is dropped. */
type Read = { readonly value: unknown } | { readonly dropped: string };
type ReadKeyword = (value: unknown, position: Position) => Read;

function rewritten(schema: JsonRecord, position: Position): JsonRecord {
  const members = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    const read = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    if (read === undefined) return [[keyword, value]];
    const at = { ...position, where: `${position.where}/${pointerToken(keyword)}` };
    const result = value === null ? IS_NULL : read(value, at);
    if ("value" in result) return [[keyword, result.value]];
    position.notes.push({ where: at.where, text: `${result.dropped}; left out for clients` });
    return [];
  });
  return compatible(Object.fromEntries(members), { before: schema, position });
}

const IS_NULL: Read = { dropped: "it is null" };

/** Rewrites keywords that depend on each other: the exclusive bounds of draft 4 were booleans, and `nullable` needs a type beside it. */
function compatible(
  clean: JsonRecord,
  { before, position }: { readonly before: JsonRecord; readonly position: Position },
): JsonRecord {
  const result: Record<string, unknown> = { ...clean };
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (before[exclusive] !== true || typeof result[bound] !== "number") continue;
    result[exclusive] = result[bound];
    delete result[bound];
  }
  const { type: types, nullable } = result;
  const isContradicted = nullable === false && [types].flat().includes("null");
  if (nullable !== undefined && (types === undefined || isContradicted)) {
    delete result["nullable"];
    const where = `${position.where}/nullable`;
    position.notes.push({ where, text: "it has no meaning without a type; left out for clients" });
  }
  return result;
}

const check =
  (isValid: (value: unknown) => boolean, wanted: string): ReadKeyword =>
  (value) =>
    isValid(value) ? { value } : { dropped: `it is not ${wanted}` };

const text = check((value) => typeof value === "string", "a text");
const flag = check((value) => typeof value === "boolean", "a boolean");
const number = check((value) => typeof value === "number", "a number");
const count = check((value) => Number.isInteger(value) && Number(value) >= 0, "a whole number");
const list = check(Array.isArray, "a list");
const names = check(isNames, "a list of names");

const subschema: ReadKeyword = (value, position) => {
  if (isRecord(value)) return { value: rewritten(value, position) };
  if (typeof value !== "boolean") return { dropped: "it is not a schema" };
  position.notes.push({ where: position.where, text: "a boolean schema; an equal object is used" });
  return { value: value ? {} : { not: {} } };
};

/** Clients support booleans where every revision of JSON Schema has had them. */
const schemaOrFlag: ReadKeyword = (value, position) =>
  typeof value === "boolean" ? { value } : subschema(value, position);

const subschemas: ReadKeyword = (value, position) => {
  if (!Array.isArray(value) || value.length === 0)
    return { dropped: "it is not a list of schemas" };
  const read = value.map((item, n) => inner(item, n, position));
  return { value: read };
};

const schemaOrList: ReadKeyword = (value, position) =>
  Array.isArray(value)
    ? { value: value.map((item, n) => inner(item, n, position)) }
    : subschema(value, position);

const schemasByName: ReadKeyword = (value, position) => {
  if (!isRecord(value)) return { dropped: "it is not a map of schemas" };
  const entries = Object.entries(value).map(([name, item]) => [name, inner(item, name, position)]);
  return { value: Object.fromEntries(entries) as JsonRecord };
};

/** A part that must not be left out: a value that is no schema becomes one that allows everything. */
function inner(item: unknown, name: string | number, position: Position): unknown {
  const at = { ...position, where: `${position.where}/${pointerToken(String(name))}` };
  const read = subschema(item, at);
  if ("value" in read) return read.value;
  position.notes.push({ where: at.where, text: `${read.dropped}; {} is used for clients` });
  return {};
}

const type: ReadKeyword = (value) => {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value];
  const known = types.filter((one) => typeof one === "string" && TYPES.has(one));
  if (known.length === 0 || known.length < types.length)
    return { dropped: "it names a type that JSON Schema does not have" };
  return { value };
};
const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);

const pattern: ReadKeyword = (value) => {
  if (typeof value !== "string") return { dropped: "it is not a text" };
  return isRegExp(value) ? { value } : { dropped: "it is not a regular expression of ECMA-262" };
};

/** Clients compile patterns with the flag `u`, as JSON Schema recommends. */
function isRegExp(source: string): boolean {
  try {
    return new RegExp(source, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

const patterns: ReadKeyword = (value, position) => {
  if (!isRecord(value)) return { dropped: "it is not a map of schemas" };
  const usable = Object.entries(value).filter(([source]) => isRegExp(source));
  if (usable.length < Object.keys(value).length)
    position.notes.push({
      where: position.where,
      text: "a pattern is not a regular expression of ECMA-262; left out for clients",
    });
  return schemasByName(Object.fromEntries(usable), position);
};

/** A reference that names nothing makes a client refuse the whole list. */
const reference: ReadKeyword = (value, { root }) => {
  const resolved = resolveReference(root, value);
  return "problem" in resolved ? { dropped: resolved.problem } : { value };
};

const dependencies: ReadKeyword = (value, position) => {
  if (!isRecord(value)) return { dropped: "it is not a map" };
  const entries = Object.entries(value).map(([name, item]) => [
    name,
    isNames(item) ? item : inner(item, name, position),
  ]);
  return { value: Object.fromEntries(entries) as JsonRecord };
};

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

/** The form of each keyword: https://json-schema.org/draft/2020-12/schema, and those of earlier drafts that clients support. */
const KEYWORDS: Readonly<Record<string, ReadKeyword>> = {
  $schema: text,
  $id: text,
  $anchor: text,
  $comment: text,
  $ref: reference,
  title: text,
  description: text,
  format: text,
  contentEncoding: text,
  contentMediaType: text,
  type,
  enum: check((value) => Array.isArray(value) && value.length > 0, "a list of values"),
  required: names,
  examples: list,
  properties: schemasByName,
  patternProperties: patterns,
  $defs: schemasByName,
  definitions: schemasByName,
  dependentSchemas: schemasByName,
  dependentRequired: check(
    (value) => isRecord(value) && Object.values(value).every(isNames),
    "a map of names",
  ),
  dependencies,
  anyOf: subschemas,
  oneOf: subschemas,
  allOf: subschemas,
  prefixItems: subschemas,
  items: schemaOrList,
  additionalItems: schemaOrFlag,
  additionalProperties: schemaOrFlag,
  unevaluatedItems: schemaOrFlag,
  unevaluatedProperties: schemaOrFlag,
  propertyNames: subschema,
  contains: subschema,
  not: subschema,
  if: subschema,
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema; nothing awaits the table
  then: subschema,
  else: subschema,
  pattern,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: check((value) => typeof value === "number" && value > 0, "a positive number"),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: flag,
  nullable: flag,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
};
