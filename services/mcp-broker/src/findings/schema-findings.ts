import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { visible } from "@switchyard/service/visible-text";
import { prepareSchema } from "@switchyard/service/json-schema/prepare-schema";

const MAX_PROPERTIES = 100;
const MAX_DEPTH = 5;

/**
 * Findings about a schema for its users: the broker, which cannot check all of it, and model providers, which refuse some of it.
 * `raw` is the schema as the server wrote it.
 */
export function schemaFindings(where: string, schema: JsonRecord, raw: unknown): ToolFinding[] {
  const prepared = prepareSchema(schema);
  if (prepared.kind === "too_complex") {
    const evidence = `${prepared.reason}; it cannot be checked`;
    return [{ code: "schema_too_complex", severity: "hard", where, evidence }];
  }
  const unchecked = prepared.notes.map((note): ToolFinding => ({
    code: "schema_not_checked",
    severity: "soft",
    where: where + visible(note.where, 300),
    evidence: `${note.text}; this part is not checked`,
  }));
  const isForModels = where === "/inputSchema";
  return isForModels ? [...unchecked, ...portability(where, schema, raw)] : unchecked;
}

/** Rules of the providers' own documentation on function declarations, November 2026. */
function portability(where: string, schema: JsonRecord, raw: unknown): ToolFinding[] {
  const findings: ToolFinding[] = [];
  const refused = (by: string, why: string, path = ""): void => {
    if (findings.some(({ evidence }) => evidence.startsWith(`${why};`))) return;
    const evidence = `${why}; refused or ignored by ${by}`;
    findings.push({
      code: "schema_not_portable",
      severity: "soft",
      where: where + visible(path, 300),
      evidence,
    });
  };
  if (isRecord(raw) && raw["type"] === undefined)
    refused("Anthropic, OpenAI, Google", 'no "type": "object"; it is added');
  for (const keyword of ["oneOf", "anyOf", "allOf", "not", "enum"])
    if (schema[keyword] !== undefined)
      refused("Anthropic, OpenAI, Google", `${keyword} at the top`, `/${keyword}`);
  const counted = { properties: 0 };
  for (const { inner, path, depth } of subschemas(schema)) {
    counted.properties += isRecord(inner["properties"])
      ? Object.keys(inner["properties"]).length
      : 0;
    if (depth > MAX_DEPTH) refused("OpenAI (strict)", `more than ${MAX_DEPTH} levels`, path);
    if (inner["$ref"] !== undefined) refused("Google", "$ref", `${path}/$ref`);
    if (Array.isArray(inner["type"])) refused("Google", "a list of types", `${path}/type`);
    if (inner["type"] === "array" && inner["items"] === undefined)
      refused("OpenAI, Google", "an array without items", path);
    for (const keyword of ["patternProperties", "if", "dependentSchemas", "propertyNames", "oneOf"])
      if (path !== "" && inner[keyword] !== undefined)
        refused("OpenAI (strict), Google", keyword, `${path}/${keyword}`);
    const names = isRecord(inner["properties"]) ? Object.keys(inner["properties"]) : [];
    const odd = names.find((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name));
    if (odd !== undefined)
      refused(
        "Anthropic",
        "a property name beyond 1-64 letters, digits, _ . -",
        `${path}/properties/${odd}`,
      );
  }
  if (counted.properties > MAX_PROPERTIES)
    refused("OpenAI (strict)", `more than ${MAX_PROPERTIES} properties`);
  return findings;
}

/** Every position at which a schema may appear, as far as the checks above need it; depth counts objects. */
function* subschemas(
  root: JsonRecord,
): Generator<{ inner: JsonRecord; path: string; depth: number }> {
  const waiting: { inner: unknown; path: string; depth: number }[] = [
    { inner: root, path: "", depth: 0 },
  ];
  for (let count = 0; count < 5_000; count += 1) {
    const next = waiting.pop();
    if (next === undefined) return;
    const { inner, path, depth } = next;
    if (!isRecord(inner)) continue;
    yield { inner, path, depth };
    for (const keyword of ["properties", "$defs", "definitions"]) {
      const map = inner[keyword];
      if (isRecord(map))
        for (const [name, value] of Object.entries(map))
          waiting.push({ inner: value, path: `${path}/${keyword}/${name}`, depth: depth + 1 });
    }
    for (const keyword of ["items", "additionalProperties", "not"])
      waiting.push({ inner: inner[keyword], path: `${path}/${keyword}`, depth: depth + 1 });
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      const list = inner[keyword];
      if (Array.isArray(list))
        for (const [index, value] of list.entries())
          waiting.push({ inner: value, path: `${path}/${keyword}/${index}`, depth });
    }
  }
}
