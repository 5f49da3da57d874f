type Json = Readonly<Record<string, unknown>>;

/**
 * The reason why a provider refuses the tools of a request; null when it does not. Each is a 400 for the whole request:
 * "input_schema does not support oneOf, allOf, or anyOf at the top level" and "Property keys should match pattern
 * '^[a-zA-Z0-9_.-]{1,64}$'" (Anthropic, as reported in anthropics/claude-code), "Invalid schema for function 'x': In
 * context=('properties', 'y'), array schema missing items" (OpenAI, `invalid_function_parameters`).
 */
export function toolRefusalOf(body: Json): string | null {
  const tools = Array.isArray(body["tools"]) ? (body["tools"] as { function: Json }[]) : [];
  for (const { function: tool } of tools) {
    const why = schemaRefusal(tool["parameters"], true);
    if (why !== null) return `Invalid schema for function '${String(tool["name"])}': ${why}`;
  }
  return null;
}

function schemaRefusal(schema: unknown, isTop: boolean): string | null {
  if (typeof schema !== "object" || schema === null) return null;
  const members = schema as Json;
  if (isTop && ["oneOf", "anyOf", "allOf", "enum", "not"].some((keyword) => keyword in members))
    return "oneOf, allOf, or anyOf at the top level";
  if (members["type"] === "array" && members["items"] === undefined)
    return "array schema missing items";
  for (const [key, inner] of Object.entries((members["properties"] ?? {}) as Json)) {
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) return `property key ${key}`;
    const why = schemaRefusal(inner, false);
    if (why !== null) return why;
  }
  return schemaRefusal(members["items"], false);
}
