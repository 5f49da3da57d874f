import { examples } from "./examples.ts";

type Json = Readonly<Record<string, unknown>>;

/** Values of numbers by the unit at the end of their name. */
const BY_UNIT: readonly (readonly [RegExp, number])[] = [
  [/AtMs$/, 1_764_244_800_000],
  [/Ms$/, 30_000],
  [/Seconds$/, 60],
  [/bytes$/i, 4_096],
  [/tokens$/i, 1_200],
  [/usd$/i, 0.42],
];

/**
 * Returns an example of a whole message: the written one of its place, or its required properties, or its first property when none is
 * required. `without` names properties that are not in this part of the message.
 */
export function messageExample(
  json: Json,
  {
    place,
    without = new Set(),
  }: { readonly place: string; readonly without?: ReadonlySet<string> },
): unknown {
  const written = examples[place];
  const composed = written ?? exampleOf(json);
  if (typeof composed !== "object" || composed === null || Array.isArray(composed)) return composed;
  const kept = Object.entries(composed).filter(([name]) => !without.has(name));
  if (kept.length > 0) return Object.fromEntries(kept);
  const [first] = Object.entries((json["properties"] ?? {}) as Record<string, Json>);
  return first === undefined ? {} : { [first[0]]: exampleOf(first[1], first[0]) };
}

/** Returns an example of a JSON Schema, composed of those of its parts; undefined when a text in it has none. */
export function exampleOf(json: Json, name = ""): unknown {
  const [given] = (json["examples"] ?? []) as unknown[];
  if (given !== undefined) return given;
  if ("const" in json) return json["const"];
  if ("default" in json) return json["default"];
  const { enum: values, type, anyOf, oneOf } = json;
  if (Array.isArray(values)) return values[0];
  const union = anyOf ?? oneOf;
  if (Array.isArray(union)) return exampleOf(union[0] as Json, name);
  if (Array.isArray(json["allOf"]))
    return Object.assign({}, ...json["allOf"].map((part) => exampleOf(part as Json, name)));
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return objectOf(json);
    case "array":
      return listOf(json);
    case "boolean":
      return true;
    case "integer":
    case "number":
      return numberOf(json, name);
    case "null":
      return null;
    case "string":
      return json["format"] === "date-time" ? "2026-11-27T12:00:00.000Z" : undefined;
    default:
      return type === undefined ? "value" : undefined;
  }
}

/** Composes the required properties; one optional property is as good as another. */
function objectOf({ properties, required }: Json): unknown {
  const needed = new Set(Array.isArray(required) ? required : []);
  const entries = Object.entries((properties ?? {}) as Record<string, Json>)
    .filter(([name]) => needed.has(name))
    .map(([name, part]) => [name, exampleOf(part, name)] as const);
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}

function listOf({ items }: Json): unknown {
  if (Array.isArray(items)) return items.map((item) => exampleOf(item as Json));
  const one = exampleOf((items ?? {}) as Json);
  return one === undefined ? undefined : [one];
}

function numberOf(json: Json, name: string): number {
  const [, wanted = 3] = BY_UNIT.find(([unit]) => unit.test(name)) ?? [];
  const { minimum, maximum, exclusiveMinimum } = json as Readonly<
    Record<string, number | undefined>
  >;
  const least =
    minimum ?? (exclusiveMinimum === undefined ? Number.MIN_SAFE_INTEGER : exclusiveMinimum + 1);
  return Math.min(Math.max(wanted, least), maximum ?? Number.MAX_SAFE_INTEGER);
}
