import { problemOfSchema } from "@switchyard/service/json-schema/answer-schema";
import { invalid } from "./openai-errors.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of the answer that `response_format` or `text.format` names; undefined for plain text. Throws
 * `invalid_value` for a format that agents do not have, and for a schema with a keyword that cannot be checked; the message has
 * the JSON pointer to the keyword. `at` is the name of the parameter, `schemaAt` that of the schema in it.
 */
export function outputSchemaOf(
  format: { readonly type: string; readonly schema: Schema | undefined } | null | undefined,
  { at, schemaAt }: { readonly at: string; readonly schemaAt: string },
): Record<string, unknown> | undefined {
  switch (format?.type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return { type: "object" };
    case "json_schema":
      break;
    default:
      throw invalid(`${at}.type`, "is none of text, json_object, json_schema");
  }
  const { schema } = format;
  if (schema === undefined) throw invalid(schemaAt, "is missing: the JSON Schema of the answer");
  const problem = problemOfSchema(schema);
  if (problem !== null) throw invalid(schemaAt, `cannot be the form of an answer: ${problem}`);
  return schema;
}
