type Json = Readonly<Record<string, unknown>>;

/** What a schema may become: references can multiply it. */
const MOST_PARTS = 2_000;
const LOCAL = /^#\/(\$defs|definitions)\/([^/]+)$/;

/**
 * A JSON Schema with each reference to one of its own definitions replaced by that definition, since agents' answers are checked without references
 * and clients write nested models with them. A schema that refers to itself, or to elsewhere, stays as it is.
 */
export function inlineRefs(
  schema: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (schema === undefined) return undefined;
  let parts = 0;
  const inlined = (value: unknown, within: readonly string[]): unknown => {
    parts += 1;
    if (parts > MOST_PARTS) throw new NotInlined();
    if (Array.isArray(value)) return value.map((one) => inlined(one, within));
    return isObject(value) ? inlinedObject(value, within) : value;
  };
  const inlinedObject = (value: Json, within: readonly string[]): Record<string, unknown> => {
    const { $ref, ...rest } = value;
    if (typeof $ref !== "string") return fields(value, within);
    const [, group = "", name = ""] = LOCAL.exec($ref) ?? [];
    const definitions = schema[group];
    const found =
      isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : null;
    if (!isObject(found) || within.includes($ref)) throw new NotInlined();
    return { ...inlinedObject(found, [...within, $ref]), ...fields(rest, within) };
  };
  const fields = (value: Json, within: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, inlined(one, within)] as const),
    );
  try {
    const { $defs: _, definitions: __, ...rest } = schema;
    return inlinedObject(rest, []);
  } catch (error) {
    if (error instanceof NotInlined) return schema;
    throw error;
  }
}

class NotInlined extends Error {}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
