import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

type Schema = Readonly<Record<string, unknown>>;

const MAX_SCHEMA_BYTES = 65_536;
/** Patterns could take for ever on a text that a model wrote. */
const REFUSED: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "$ref",
  "$dynamicRef",
]);

/** Why a schema cannot be used for answers; null when it can. */
export function problemOfSchema(schema: Schema): string | null {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return `it has more than ${MAX_SCHEMA_BYTES} bytes`;
  const refused = refusedKeyword(schema);
  if (refused !== null) return `the keyword ${refused} is not supported`;
  try {
    compiled(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Where an answer does not fit, one line each; empty when it fits. */
export function problemsOfAnswer(schema: Schema, answer: unknown): string[] {
  const validate = compiled(schema);
  try {
    if (validate(answer)) return [];
  } catch (error) {
    // The validator asks values how they compare, and an answer may have members of such names.
    if (error instanceof TypeError)
      return ["/: members named toString or valueOf are not supported"];
    throw error;
  }
  return (validate.errors ?? [])
    .slice(0, 10)
    .map(({ instancePath, message = "does not fit" }) => `${instancePath || "/"}: ${message}`);
}

/** Compiling takes as long as a whole run of a quick model, and the runs of an agent mostly share one schema. */
const MAX_KNOWN = 100;
/** By their JSON, the one that was used longest ago first. */
const known = new Map<string, ValidateFunction>();

function compiled(schema: Schema): ValidateFunction {
  const json = JSON.stringify(schema);
  const validate = known.get(json) ?? compile(schema);
  known.delete(json);
  known.set(json, validate);
  const [oldest] = known.keys();
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  return validate;
}

function compile(schema: Schema): ValidateFunction {
  // One for each schema: what one of them calls itself is nothing to another.
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    addUsedSchema: false,
    ownProperties: true,
    allErrors: false,
    logger: false,
  });
  return ajv.compile(schema);
}

/** Keywords in the place of a name (a property called `pattern`) are not told apart: rather refused. */
function refusedKeyword(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const found = REFUSED.has(key) && typeof item !== "boolean" ? key : refusedKeyword(item);
    if (found !== null) return found;
  }
  return null;
}
