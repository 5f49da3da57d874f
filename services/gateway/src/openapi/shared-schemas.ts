export type Json = Record<string, unknown>;

interface Found {
  readonly schema: Json;
  /** Names from the outside in: the method, the last and first segment of the path, then the properties. */
  readonly names: readonly string[];
  count: number;
}

interface Counting {
  readonly found: Map<string, Found>;
  /** Returns the key under which a schema is shared; null for a schema that gets no name. */
  readonly keyOf: (schema: Json) => string | null;
}

/** Below this many characters a `$ref` is less readable than the schema itself. */
const WORTH_A_NAME = 120;
const LISTS = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const SINGLES = new Set(["items", "additionalProperties", "propertyNames", "not"]);

/**
 * Returns the same OpenAPI document with each object or union that occurs more than once as one entry of `components.schemas`.
 * An entry has the name that `given` has for the schema's JSON text, or is named after the property that holds it first.
 */
export function withSharedSchemas(
  document: Json,
  given: ReadonlyMap<string, string> = new Map(),
): Json {
  const keyOf = (schema: Json): string | null => {
    const key = keyText(schema);
    return given.has(key) || isWorthAName(schema, key) ? key : null;
  };
  const found = new Map<string, Found>();
  const paths = document["paths"] as Json;
  mapSchemas(paths, (schema, names) => {
    count(schema, names, { found, keyOf });
    return schema;
  });
  const components = document["components"] as Json;
  const kept = components["schemas"] as Json;
  const taken = new Set(Object.keys(kept));
  const nameOf = new Map<string, string>();
  const repeated = [...found].filter(([, { count: times }]) => times > 1);
  for (const [key] of repeated) {
    const name = given.get(key);
    if (name !== undefined && take(name, taken)) nameOf.set(key, name);
  }
  for (const [key, { names }] of repeated)
    if (!nameOf.has(key)) nameOf.set(key, freeName(names, taken));
  const refer = (schema: Json): Json => {
    const name = nameOf.get(keyOf(schema) ?? "");
    if (name === undefined) return mapInside(schema, refer);
    const { description, examples } = schema;
    return {
      $ref: `#/components/schemas/${name}`,
      ...(description !== undefined && { description }),
      ...(examples !== undefined && { examples }),
    };
  };
  const shared = [...nameOf].map(([key, name]): [string, Json] => {
    const { schema = {} } = found.get(key) ?? {};
    return [name, mapInside(withoutTexts(schema), refer)];
  });
  const schemas = Object.fromEntries(
    [...Object.entries(kept), ...shared].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return {
    ...document,
    paths: mapSchemas(paths, refer),
    components: { ...components, schemas },
  };
}

/** Returns the text by which schemas are compared: the same schema has a description and an example of its own in each position. */
export function keyText(schema: Json): string {
  return JSON.stringify(withoutTexts(schema));
}

function withoutTexts({ description: _text, examples: _examples, ...schema }: Json): Json {
  return schema;
}

/** Counts as in the shared document: schemas inside a repeated schema count once. */
function count(schema: Json, names: readonly string[], into: Counting): void {
  const { found, keyOf } = into;
  const key = keyOf(schema);
  const known = key === null ? undefined : found.get(key);
  if (known !== undefined) {
    known.count += 1;
    return;
  }
  if (key !== null) found.set(key, { schema, names, count: 1 });
  mapInside(schema, (inner, name) => {
    count(inner, name === null ? names : [...names, name], into);
    return inner;
  });
}

/** A union with null stays inline, around the name of the optional schema. */
function isWorthAName(schema: Json, text: string): boolean {
  const { anyOf } = schema;
  const isOptional = Array.isArray(anyOf) && anyOf.length === 2 && anyOf.some(isNull);
  if (isOptional || text.length < WORTH_A_NAME) return false;
  return ["properties", "anyOf", "oneOf", "enum"].some((word) => word in schema);
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && schema["type"] === "null";
}

function freeName(names: readonly string[], taken: Set<string>): string {
  const words = names.map((name) => pascal(name));
  for (let length = 1; length <= words.length; length += 1) {
    const name = words.slice(-length).join("");
    if (take(name, taken)) return name;
  }
  for (let number = 2; ; number += 1) {
    const name = `${words.join("")}${number}`;
    if (take(name, taken)) return name;
  }
}

function take(name: string, taken: Set<string>): boolean {
  if (name === "" || taken.has(name)) return false;
  taken.add(name);
  return true;
}

function pascal(name: string): string {
  return name
    .split(/[^a-zA-Z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

/** An element of `policies` is a `policy`. */
function singular(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.endsWith("s") && !/(ss|us|is)$/.test(name) ? name.slice(0, -1) : name;
}

/** Maps every schema directly in the operations: of parameters, bodies and answers. */
function mapSchemas(paths: Json, change: (schema: Json, names: readonly string[]) => Json): Json {
  const walk = (value: unknown, names: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((entry) => walk(entry, names));
    if (!isObject(value)) return value;
    const inner = typeof value["name"] === "string" ? [...names, value["name"]] : names;
    return Object.fromEntries(
      Object.entries(value).map(([word, entry]) => [
        word,
        word === "schema" && isObject(entry) ? change(entry, inner) : walk(entry, inner),
      ]),
    );
  };
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations as Json).map(([method, operation]) => [
          method,
          walk(operation, [method, ...namesOf(path)]),
        ]),
      ),
    ]),
  );
}

/** `/skills/{name}/import` gives `import skill`. */
function namesOf(path: string): string[] {
  const [first = "", ...rest] = path
    .split("/")
    .filter((segment) => segment !== "" && !segment.startsWith("{"));
  return [[...rest.slice(-1), singular(first)].join(" ")];
}

/** Maps the schemas directly inside a schema, each with the name of its property or null. */
function mapInside(schema: Json, change: (inner: Json, name: string | null) => Json): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([word, value]): [string, unknown] => {
      if (word === "properties" && isObject(value))
        return [
          word,
          Object.fromEntries(
            Object.entries(value).map(([name, inner]) => [
              name,
              isObject(inner) ? change(inner, nameIn(name, inner)) : inner,
            ]),
          ),
        ];
      if (LISTS.has(word) && Array.isArray(value))
        return [
          word,
          value.map((inner: unknown) => (isObject(inner) ? change(inner, null) : inner)),
        ];
      if (SINGLES.has(word) && isObject(value)) return [word, change(value, null)];
      return [word, value];
    }),
  );
}

function nameIn(name: string, { type }: Json): string {
  return type === "array" ? singular(name) : name;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
