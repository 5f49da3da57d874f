import type { ToolListing } from "../catalogue/read-tool-list.ts";
import { isRecord } from "@switchyard/contracts/json-record";

/** The listing without the tools whose parameter headers cannot be sent; each is named as a problem. */
export function withoutUnsendable(listing: ToolListing): ToolListing {
  const problems = listing.tools.flatMap(({ name, inputSchema }) => {
    const problem = parameterHeaderProblem(inputSchema);
    return problem === null ? [] : [{ name, text: `tool "${name}" is refused: ${problem}` }];
  });
  const refused = new Set(problems.map(({ name }) => name));
  return {
    ...listing,
    tools: listing.tools.filter(({ name }) => !refused.has(name)),
    problems: [...listing.problems, ...problems.map(({ text }) => text)],
  };
}

/** The reason why a declaration cannot be sent, in words; null when there is none or all can be sent. */
export function parameterHeaderProblem(inputSchema: unknown): string | null {
  return problemIn(inputSchema, { path: [], isPlain: true, names: new Set() });
}

const KEY = "x-mcp-header";
/** A token of RFC 9110 §5.6.2: no spaces, no control characters, nothing that ends a header's name. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
/** Keywords whose value is made of schemas by name, none of them a property. */
const MAPS = new Set(["patternProperties", "dependentSchemas", "$defs", "definitions"]);
const SUBSCHEMAS = new Set([
  ...MAPS,
  "items",
  "prefixItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
]);
const MAX_DEPTH = 64;

interface SchemaPosition {
  readonly path: readonly string[];
  /** Reached through `properties` alone. */
  readonly isPlain: boolean;
  /** Names so far, in lower case. */
  readonly names: Set<string>;
}

/**
 * With 2026-07-28 a tool may require a parameter in an HTTP header too. A tool whose parameter no header can carry is left out, as
 * the specification requires: a call would be refused or mean something else.
 */
function problemIn(schema: unknown, position: SchemaPosition): string | null {
  if (!isRecord(schema)) return null;
  if (position.path.length > MAX_DEPTH) return "the schema is nested too deeply";
  const own = KEY in schema ? ownProblem(schema, position) : null;
  if (own !== null) return `${position.path.join(".") || "the schema"}: ${own}`;
  for (const [keyword, value] of Object.entries(schema)) {
    const isProperties = keyword === "properties";
    if (!isProperties && !SUBSCHEMAS.has(keyword)) continue;
    const isPlain = position.isPlain && isProperties;
    for (const [name, below] of schemasIn(keyword, value)) {
      const problem = problemIn(below, { ...position, isPlain, path: [...position.path, name] });
      if (problem !== null) return problem;
    }
  }
  return null;
}

function ownProblem(
  schema: Readonly<Record<string, unknown>>,
  position: SchemaPosition,
): string | null {
  const name = schema[KEY];
  if (!position.isPlain || position.path.length === 0) return `${KEY} is only for properties`;
  if (typeof name !== "string" || !HEADER_NAME.test(name))
    return `${KEY} is not a name of a header`;
  if (!TYPES.has(schema["type"])) return `${KEY} is only for string, integer and boolean`;
  if (position.names.has(name.toLowerCase())) return `${KEY} ${name} is there twice`;
  position.names.add(name.toLowerCase());
  return null;
}

function schemasIn(keyword: string, value: unknown): [string, unknown][] {
  if (keyword === "properties" || MAPS.has(keyword))
    return isRecord(value) ? Object.entries(value) : [];
  if (Array.isArray(value)) return value.map((each) => [`<${keyword}>`, each]);
  return [[`<${keyword}>`, value]];
}
