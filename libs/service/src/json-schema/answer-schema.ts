import { compilePrepared, type Validate } from "./compile-schema.ts";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { prepareSchema } from "./prepare-schema.ts";
import { createValidatorCache } from "./validator-cache.ts";

const MAX_SCHEMA_BYTES = 65_536;

/**
 * The reason why a schema cannot be the form of an answer, with the JSON pointer to the keyword; null when it can. Each keyword of it is checked
 * or has no meaning for a check, so that an accepted answer fits the schema: a keyword that cannot be checked in linear time is refused.
 */
export function problemOfSchema(schema: JsonRecord): string | null {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return `it has more than ${MAX_SCHEMA_BYTES} bytes`;
  const prepared = prepareSchema(schema, { isStrict: true });
  if (prepared.kind === "too_complex") return prepared.reason;
  const [note] = prepared.notes;
  if (note !== undefined) return `${note.where || "/"}: ${note.text}`;
  if (isEndless(prepared.schema))
    return "a $ref leads back to itself without a property or an item between, so that no answer fits";
  return null;
}

/** The places where an answer does not fit a schema that has no problem, one line each; empty when it fits. */
export function problemsOfAnswer(schema: JsonRecord, answer: unknown): string[] {
  return validatorOf(
    JSON.stringify(schema),
    schema,
  )(answer).map(({ pointer, expected }) => `${pointer || "/"}: ${expected}`);
}

/** Compiling takes as long as a whole run of a quick model, and the runs of an agent mostly share one schema. */
const validatorOf = createValidatorCache(100, compileStrict);

const UNCHECKED: Validate = () => [{ pointer: "", expected: "a schema that can be checked" }];

/** A journal of an earlier version may have a schema that is refused today. */
function compileStrict(schema: JsonRecord): Validate {
  const prepared = prepareSchema(schema, { isStrict: true });
  const validate = prepared.kind === "ready" ? compilePrepared(prepared.schema) : null;
  return validate ?? UNCHECKED;
}

const IN_PLACE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"];

/** True when the check of one value would have to begin with the check of the same value. */
function isEndless(schema: object): boolean {
  const definitions = isRecord(schema) && isRecord(schema["$defs"]) ? schema["$defs"] : {};
  const done = new Set<string>();
  const leadsBack = (value: unknown, open: readonly string[]): boolean =>
    referencesInPlace(value).some((name) => {
      if (open.includes(name)) return true;
      if (done.has(name)) return false;
      const found = leadsBack(definitions[name], [...open, name]);
      done.add(name);
      return found;
    });
  return [schema, ...Object.values(definitions)].some((value) => leadsBack(value, []));
}

/** The definitions that a prepared schema applies to the value itself. */
function referencesInPlace(schema: unknown): string[] {
  if (!isRecord(schema)) return [];
  const own = typeof schema["$ref"] === "string" ? [schema["$ref"].replace("#/$defs/", "")] : [];
  const inner = IN_PLACE.flatMap((keyword) => {
    const value = schema[keyword];
    return keyword === "dependentSchemas" && isRecord(value)
      ? Object.values(value)
      : [value].flat();
  });
  return [...own, ...inner.flatMap(referencesInPlace)];
}
