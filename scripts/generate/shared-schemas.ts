type Json = Record<string, unknown>;

/** The keywords of JSON Schema that hold schemas; `const`, `enum` and `default` hold data. */
const BY_KEY = new Set(["properties", "patternProperties"]);
const LISTS = new Set(["anyOf", "oneOf", "allOf", "items"]);
/** With what a schema below them is called after its place. */
const SINGLE = new Map([
  ["items", "item"],
  ["additionalProperties", "value"],
  ["propertyNames", "key"],
  ["not", "not"],
]);

/** A schema without a name of its own that is shorter stays where it is used. */
const SHORTEST_SHARED = 150;
const PREFIX = "#/components/schemas/";

/**
 * Writes schemas that occur more than once, and those that have a name, as `components.schemas` and puts references
 * in their places. Schemas are the same when their JSON is, so that following every reference gives what came in.
 *
 * `payloads` are complete schemas by where they stand, such as `run.start.request`; a shared schema without a name is
 * called by the first of its places. `names` has the names of schemas by their JSON text.
 */
export function shareSchemas(
  payloads: Readonly<Record<string, Json>>,
  names: ReadonlyMap<string, string>,
): { payloads: Record<string, Json>; schemas: Record<string, Json> } {
  const uses = new Map<string, { count: number; place: string }>();
  const places = new Set<string>();
  for (const [place, payload] of Object.entries(payloads)) count(payload, place);
  const schemas = new Map<string, Json>();
  const shared = Object.entries(payloads).map(([place, payload]) => [place, reference(payload)]);
  return {
    payloads: Object.fromEntries(shared),
    schemas: Object.fromEntries([...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };

  /** Each distinct schema is entered once, so that parts of a shared schema count once however often it is used. */
  function count(schema: Json, place: string): void {
    const text = schemaText(schema);
    const seen = uses.get(text);
    if (seen !== undefined) {
      seen.count += 1;
      return;
    }
    uses.set(text, { count: 1, place: unused(place) });
    mapParts(schema, (part, key) => {
      count(part, key === "" ? place : `${place}.${key}`);
      return part;
    });
  }

  function unused(place: string): string {
    let free = place;
    for (let number = 2; places.has(free); number += 1) free = `${place}.${number}`;
    places.add(free);
    return free;
  }

  function reference(schema: Json): Json {
    const name = nameOf(schemaText(schema));
    if (name === null) return mapParts(schema, reference);
    if (!schemas.has(name)) {
      schemas.set(name, {});
      schemas.set(name, mapParts(withoutTexts(schema), reference));
    }
    const $ref = `${PREFIX}${name}`;
    const { description, examples } = schema;
    // Draft 7 ignores everything beside a $ref.
    return description === undefined && examples === undefined
      ? { $ref }
      : { allOf: [{ $ref }], description, ...(examples !== undefined && { examples }) };
  }

  function nameOf(text: string): string | null {
    const name = names.get(text);
    if (name !== undefined) return name;
    const use = uses.get(text);
    const isShared = use !== undefined && use.count > 1 && text.length >= SHORTEST_SHARED;
    return isShared ? use.place : null;
  }
}

/**
 * The names of schemas by their JSON text. What a schema accepts and what it gives can differ, by defaults for example; then the first is
 * called `{name}Input`. A text with two names has none, unless one is the other with a word before it: `NewRunInput` is a `RunInput`.
 */
export function namesByText(
  named: readonly { readonly name: string; readonly given: Json; readonly accepted: Json }[],
): ReadonlyMap<string, string> {
  const names = new Map<string, string | null>();
  const add = (text: string, name: string): void => {
    const known = names.get(text);
    if (known === undefined || known?.endsWith(name) === true) names.set(text, name);
    else if (known !== null && !name.endsWith(known)) names.set(text, null);
  };
  for (const { name, given, accepted } of named) {
    const text = schemaText(given);
    add(text, name);
    if (schemaText(accepted) !== text) add(schemaText(accepted), `${name}Input`);
  }
  return new Map([...names].flatMap(([text, name]) => (name === null ? [] : [[text, name]])));
}

/** Returns the text by which schemas are compared: the same schema has a description and an example of its own in each position. */
export function schemaText(schema: Json): string {
  return JSON.stringify(withoutTexts(schema));
}

function withoutTexts({ description: _text, examples: _examples, ...schema }: Json): Json {
  return schema;
}

/** The schema without texts and with its references replaced by what they name; the reverse of {@link shareSchemas}. */
export function resolveSchema(schema: Json, schemas: Readonly<Record<string, Json>>): Json {
  const plain = withoutTexts(schema);
  const [only, ...others] = Array.isArray(plain["allOf"]) ? (plain["allOf"] as Json[]) : [];
  if (only?.["$ref"] !== undefined && others.length === 0) return resolveSchema(only, schemas);
  const { $ref } = plain;
  if (typeof $ref !== "string") return mapParts(plain, (part) => resolveSchema(part, schemas));
  const found = schemas[$ref.slice(PREFIX.length)];
  if (found === undefined) throw new Error(`${$ref} names no schema of the document`);
  return resolveSchema(found, schemas);
}

/** A copy with every direct sub-schema replaced. `label` names the sub-schema, and is empty where its own parts identify it. */
function mapParts(schema: Json, change: (part: Json, label: string) => Json): Json {
  const changed = (part: unknown, label: string): unknown =>
    isSchema(part) ? change(part, label) : part;
  const entries = Object.entries(schema).map(([key, value]) => {
    if (BY_KEY.has(key) && isSchema(value)) {
      const parts = Object.entries(value).map(([name, part]) => [name, changed(part, name)]);
      return [key, Object.fromEntries(parts)];
    }
    if (LISTS.has(key) && Array.isArray(value))
      return [key, value.map((part) => changed(part, alternativeOf(part)))];
    return [key, SINGLE.has(key) ? changed(value, SINGLE.get(key) ?? "") : value];
  });
  return Object.fromEntries(entries);
}

/** The alternatives of a reply are distinguished by their codes. */
function alternativeOf(part: unknown): string {
  if (!isSchema(part) || !isSchema(part["properties"])) return "";
  const { code, ok } = part["properties"];
  if (!isSchema(ok)) return "";
  return isSchema(code) && typeof code["const"] === "string" ? code["const"] : "ok";
}

function isSchema(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
