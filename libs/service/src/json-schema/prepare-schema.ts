import { cutText } from "@switchyard/contracts/cut-text";
import { pointerToken } from "@switchyard/contracts/json-pointer";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { compileLinearRegex } from "./linear-regex.ts";
import { dialectOf, resolveReference, type Dialect } from "./schema-document.ts";
import { isKnownKeyword, readAssertion } from "./schema-keywords.ts";

/** Something in a schema that is not checked, and where. */
export interface SchemaNote {
  readonly where: string;
  readonly text: string;
}

/** A schema that may be compiled, or the reason why it may not. */
export type PreparedSchema =
  | { readonly kind: "ready"; readonly schema: object; readonly notes: readonly SchemaNote[] }
  | { readonly kind: "too_complex"; readonly reason: string };

/** Compiling one of this size takes about a tenth of a second; what a reference names takes the longest. */
export const SCHEMA_LIMITS = { depth: 64, subschemas: 1_000, targets: 200, notes: 20 } as const;

/** Keywords whose value is one schema, applied to the same value. */
const IN_PLACE = ["not", "if", "then", "else"];
/** The same, for a list of schemas. */
const IN_PLACE_LISTS = ["allOf", "anyOf", "oneOf"];
/** Keywords whose schema is applied to many values: each application counts as work. */
const FOR_EACH = [
  "additionalProperties",
  "propertyNames",
  "contains",
  "unevaluatedItems",
  "unevaluatedProperties",
];

class TooComplexError extends Error {}

/**
 * Builds a schema anew out of the parts that are understood, so that no untrusted text reaches the compiler unchecked: known keywords with
 * values of the right type, patterns that the linear engine takes, references within the document. Other parts are left out, that is, not
 * checked, and noted. The work is bounded whatever the schema is.
 *
 * With `isStrict`, formats are assertions, and a keyword that no revision of JSON Schema has is noted, too. Without it both are
 * annotations: https://json-schema.org/draft/2020-12/json-schema-core#section-6.5
 */
export function prepareSchema(
  root: JsonRecord,
  { isStrict = false }: { readonly isStrict?: boolean } = {},
): PreparedSchema {
  const job = new Preparation(root, isStrict);
  try {
    return { kind: "ready", schema: job.prepare(), notes: job.notes };
  } catch (error) {
    if (!(error instanceof TooComplexError)) throw error;
    return { kind: "too_complex", reason: error.message };
  }
}

type Clean = Record<string, unknown> | boolean;

/** OpenAPI 3.0 writes `nullable` beside the type, and generators of tools leave it in: https://spec.openapis.org/oas/v3.0.3#schema-object */
function withNull(schema: JsonRecord): JsonRecord {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type !== undefined && { type: [type, "null"].flat() }),
    ...(Array.isArray(values) && { enum: [...values, null] }),
  };
}

class Preparation {
  readonly notes: SchemaNote[] = [];
  readonly #root: JsonRecord;
  readonly #dialect: Dialect;
  /** Targets of references: each is built once, however many references name it. */
  readonly #names = new Map<JsonRecord, string>();
  readonly #waiting: { name: string; target: JsonRecord; where: string }[] = [];
  readonly #isStrict: boolean;
  #count = 0;

  constructor(root: JsonRecord, isStrict: boolean) {
    this.#root = root;
    this.#isStrict = isStrict;
    this.#dialect = dialectOf(root);
    if (!this.#dialect.isKnown) this.#note("", "$schema is unknown; read as 2020-12");
  }

  prepare(): object {
    const clean = this.#schema(this.#root, "", 0);
    const definitions: [string, Clean][] = [];
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop())
      definitions.push([next.name, this.#counted(next.target, next.where, 0)]);
    if (typeof clean === "boolean") return {};
    return definitions.length === 0 ? clean : { ...clean, $defs: Object.fromEntries(definitions) };
  }

  #schema(value: unknown, where: string, depth: number): Clean {
    if (typeof value === "boolean") return value;
    if (!isRecord(value)) {
      this.#note(where, "is not a schema");
      return true;
    }
    this.#weigh(1);
    if (depth > SCHEMA_LIMITS.depth)
      throw new TooComplexError(`it is nested deeper than ${SCHEMA_LIMITS.depth} levels`);
    if (value["$id"] !== undefined && value !== this.#root && hasReference(value)) {
      this.#note(where, "a $id inside the schema changes what references mean");
      return true;
    }
    const reference = this.#reference(value, where);
    if (reference !== null && this.#dialect.isDraft7) return reference;
    return {
      ...this.#assertions(value, where),
      ...this.#applicators(value, where, depth),
      ...reference,
    };
  }

  /** A schema that is applied more than once by one pass over its surroundings. */
  #counted(value: unknown, where: string, depth: number): Clean {
    const before = this.#count;
    const clean = this.#schema(value, where, depth);
    return typeof clean === "boolean" ? clean : { ...clean, yardStep: this.#count - before };
  }

  #reference(schema: JsonRecord, where: string): Record<string, unknown> | null {
    for (const dynamic of ["$dynamicRef", "$recursiveRef"])
      if (schema[dynamic] !== undefined) this.#note(`${where}/${dynamic}`, "is not followed");
    if (schema["$ref"] === undefined) return null;
    const resolved = resolveReference(this.#root, schema["$ref"]);
    if ("problem" in resolved) {
      this.#note(`${where}/$ref`, resolved.problem);
      return {};
    }
    const { target } = resolved;
    if (typeof target === "boolean") return target ? {} : { not: {} };
    return { $ref: `#/$defs/${this.#nameOf(target, `${where}/$ref`)}` };
  }

  #nameOf(target: JsonRecord, where: string): string {
    const known = this.#names.get(target);
    if (known !== undefined) return known;
    const name = `r${this.#names.size}`;
    if (this.#names.size >= SCHEMA_LIMITS.targets)
      throw new TooComplexError(`its references name more than ${SCHEMA_LIMITS.targets} places`);
    this.#names.set(target, name);
    this.#waiting.push({ name, target, where });
    return name;
  }

  #assertions(schema: JsonRecord, where: string): Record<string, unknown> {
    const clean: Record<string, unknown> = {};
    const stated = schema["nullable"] === true ? withNull(schema) : schema;
    for (const [keyword, value] of Object.entries(stated)) {
      if (this.#isStrict && !isKnownKeyword(keyword))
        this.#note(`${where}/${shortToken(keyword)}`, "the keyword is not known");
      const read = readAssertion(keyword, value, this.#isStrict);
      if (read === null) continue;
      if ("problem" in read) {
        this.#note(`${where}/${keyword}`, read.problem);
        this.#weigh(read.weight ?? 0);
      } else {
        this.#weigh(read.weight);
        Object.assign(clean, joined(clean, read.keywords));
      }
    }
    return clean;
  }

  #applicators(schema: JsonRecord, where: string, depth: number): Record<string, unknown> {
    const clean: Record<string, unknown> = {};
    const down = (value: unknown, ...path: string[]): Clean =>
      this.#schema(value, `${where}/${path.join("/")}`, depth + 1);
    for (const keyword of IN_PLACE)
      if (schema[keyword] !== undefined) clean[keyword] = down(schema[keyword], keyword);
    for (const keyword of IN_PLACE_LISTS) {
      const list = schema[keyword];
      if (Array.isArray(list) && list.length > 0)
        clean[keyword] = list.map((inner, index) => down(inner, keyword, String(index)));
      else if (list !== undefined) this.#note(`${where}/${keyword}`, "is not a list of schemas");
    }
    for (const keyword of FOR_EACH) {
      if (schema[keyword] === undefined) continue;
      clean[keyword] = this.#counted(schema[keyword], `${where}/${keyword}`, depth + 1);
    }
    return { ...clean, ...this.#named(schema, where, depth), ...this.#items(schema, where, depth) };
  }

  #named(schema: JsonRecord, where: string, depth: number): Record<string, unknown> {
    const clean: Record<string, unknown> = {};
    const map = (keyword: string, build: (value: unknown, path: string) => Clean): void => {
      const value = schema[keyword];
      if (value === undefined) return;
      if (!isRecord(value)) return this.#note(`${where}/${keyword}`, "is not a map of schemas");
      const entries = Object.entries(value).flatMap(([name, inner]): [string, Clean][] => {
        if (Array.isArray(inner)) return []; // a dependency on names, which is an assertion
        return [[name, build(inner, `${where}/${keyword}/${shortToken(name)}`)]];
      });
      const target = keyword === "dependencies" ? "dependentSchemas" : keyword;
      clean[target] = {
        ...(isRecord(clean[target]) ? clean[target] : {}),
        ...Object.fromEntries(entries),
      };
    };
    map("properties", (value, path) => this.#schema(value, path, depth + 1));
    map("dependentSchemas", (value, path) => this.#schema(value, path, depth + 1));
    map("dependencies", (value, path) => this.#schema(value, path, depth + 1));
    this.#patternProperties(schema, { where, depth, clean });
    return clean;
  }

  #patternProperties(
    schema: JsonRecord,
    { where, depth, clean }: { where: string; depth: number; clean: Record<string, unknown> },
  ): void {
    const value = schema["patternProperties"];
    if (!isRecord(value)) return;
    const kept: [string, Clean][] = [];
    for (const [pattern, inner] of Object.entries(value)) {
      const path = `${where}/patternProperties/${shortToken(pattern)}`;
      const compiled = compileLinearRegex(pattern);
      if ("regex" in compiled) {
        this.#weigh(compiled.weight);
        kept.push([pattern, this.#counted(inner, path, depth + 1)]);
      } else {
        // Names that it would have matched would count as additional ones, so those are let through.
        this.#note(path, compiled.problem);
        this.#weigh(compiled.weight);
        kept.push(["", true]);
      }
    }
    clean["patternProperties"] = Object.fromEntries(kept);
  }

  /** Both spellings of lists: `items: [..]` with `additionalItems`, and `prefixItems` with `items`. */
  #items(schema: JsonRecord, where: string, depth: number): Record<string, unknown> {
    const isList = Array.isArray(schema["items"]);
    const first = isList ? schema["items"] : schema["prefixItems"];
    const rest = isList ? schema["additionalItems"] : schema["items"];
    const clean: Record<string, unknown> = {};
    if (Array.isArray(first) && first.length > 0) {
      const path = `${where}/${isList ? "items" : "prefixItems"}`;
      clean["prefixItems"] = first.map((inner, index) =>
        this.#schema(inner, `${path}/${index}`, depth + 1),
      );
    }
    if (rest !== undefined) {
      const path = `${where}/${isList ? "additionalItems" : "items"}`;
      clean["items"] = this.#counted(rest, path, depth + 1);
    }
    return clean;
  }

  #weigh(weight: number): void {
    this.#count += weight;
    if (this.#count > SCHEMA_LIMITS.subschemas)
      throw new TooComplexError(`it has more than ${SCHEMA_LIMITS.subschemas} subschemas`);
  }

  #note(where: string, text: string): void {
    if (this.notes.length < SCHEMA_LIMITS.notes)
      this.notes.push({ where: cutText(where, 300), text });
  }
}

/** `minLength` and `maxLength` become one keyword, whichever comes first. */
function joined(before: JsonRecord, now: JsonRecord): JsonRecord {
  const earlier = before["yardLength"];
  const later = now["yardLength"];
  return isRecord(earlier) && isRecord(later) ? { yardLength: { ...earlier, ...later } } : now;
}

/** True when a reference is somewhere below; deep ones may be missed, and then each has a note of its own. */
function hasReference(schema: JsonRecord): boolean {
  const waiting: unknown[] = [schema];
  for (let steps = 0; steps < SCHEMA_LIMITS.subschemas; steps += 1) {
    const value = waiting.pop();
    if (value === undefined) return false;
    if (typeof value !== "object" || value === null) continue;
    if ("$ref" in value) return true;
    waiting.push(...Object.values(value).slice(0, SCHEMA_LIMITS.subschemas));
  }
  return true;
}

function shortToken(name: string): string {
  return cutText(pointerToken(name), 100);
}
