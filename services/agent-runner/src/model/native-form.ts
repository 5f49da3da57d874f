type Schema = Readonly<Record<string, unknown>>;

/** Objects nested in each other, from OpenAI's guide; references are followed by the provider. */
const MAX_DEPTH = 10;
const OF_VALUES = new Set([
  "$ref",
  "type",
  "enum",
  "const",
  "title",
  "description",
  "required",
  "additionalProperties",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
]);

/**
 * True for a schema that OpenAI's strict mode accepts, so that the model cannot answer in another form: objects list all their
 * properties as required and permit no others, and few keywords are allowed
 * (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas). Other providers have adopted these rules. An
 * answer in any other form is still checked by the runner.
 */
export function isNativeForm(schema: Schema): boolean {
  return schema["type"] === "object" && schema["anyOf"] === undefined && isKnown(schema, 0);
}

function isKnown(schema: unknown, depth: number): boolean {
  if (!isSchema(schema) || depth > MAX_DEPTH) return false;
  if (schema["type"] === "object" && !isClosed(schema)) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    switch (keyword) {
      case "properties":
      case "$defs":
      case "definitions":
        return isSchema(value) && Object.values(value).every((inner) => isKnown(inner, depth + 1));
      case "items":
        return isKnown(value, depth + 1);
      case "anyOf":
        return Array.isArray(value) && value.every((inner) => isKnown(inner, depth + 1));
      default:
        return OF_VALUES.has(keyword);
    }
  });
}

function isClosed({ properties = {}, required = [], additionalProperties }: Schema): boolean {
  const names = new Set(Array.isArray(required) ? required : []);
  const known = isSchema(properties) ? Object.keys(properties) : [];
  return additionalProperties === false && known.every((name) => names.has(name));
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
