import { cutText } from "@switchyard/contracts/cut-text";
import {
  type AnswerContent,
  QuestionField,
  QuestionForm,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import { z } from "zod";

/**
 * Reads the schema of an elicitation as a form, or returns what is wrong with it. Only the flat shape that MCP allows is
 * accepted: any other keyword could not be shown or checked.
 */
export function readForm(schema: unknown): { form: QuestionForm } | { problem: string } {
  const shape = RequestedSchema.safeParse(schema);
  if (!shape.success) return { problem: "requestedSchema is not an object schema with properties" };
  const { properties, required } = shape.data;
  for (const [name, field] of Object.entries(properties)) {
    if (!QuestionField.safeParse(field).success)
      return {
        problem: `the field ${JSON.stringify(cutText(name, 64))} is of no kind that a form can have`,
      };
  }
  const unknown = required.find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined)
    return { problem: "requestedSchema requires a field that it does not have" };
  const form = QuestionForm.safeParse({ fields: properties, required });
  return form.success
    ? { form: form.data }
    : { problem: "requestedSchema has too many or unusable fields" };
}

/** Returns the misfits of an answer, one text for each field. Values are not repeated: they may be private. */
export function contentProblems(form: QuestionForm, content: AnswerContent): string[] {
  const unknown = Object.keys(content)
    .filter((name) => !Object.hasOwn(form.fields, name))
    .map((name) => `${JSON.stringify(cutText(name, 64))} is not a field of this question`);
  const wrong = Object.entries(form.fields).flatMap(([name, field]) => {
    const value = Object.hasOwn(content, name) ? content[name] : undefined;
    if (value === undefined) return form.required.includes(name) ? [`${name} is required`] : [];
    const parsed = valueSchema(field).safeParse(value);
    return parsed.success ? [] : [`${name} must be ${wanted(field)}`];
  });
  return [...unknown, ...wrong];
}

const RequestedSchema = z.object({
  type: z.literal("object"),
  properties: z.record(z.string(), z.unknown()),
  required: z.array(z.string()).default([]),
});

function valueSchema(field: QuestionField): z.ZodType {
  switch (field.type) {
    case "boolean":
      return z.boolean();
    case "number":
    case "integer": {
      const number = field.type === "integer" ? z.int() : z.number();
      return number.min(field.minimum ?? -Infinity).max(field.maximum ?? Infinity);
    }
    case "array":
      return z
        .array(z.enum(choicesOf(field)))
        .min(field.minItems ?? 0)
        .max(field.maxItems ?? Infinity);
    case "string":
      return "oneOf" in field || "enum" in field ? z.enum(choicesOf(field)) : textSchema(field);
    default:
      return field satisfies never;
  }
}

type TextField = Extract<QuestionField, { minLength?: unknown }>;

function textSchema({ format, minLength = 0, maxLength = Infinity }: TextField): z.ZodType {
  const text = z.string().min(minLength).max(maxLength);
  switch (format) {
    case "email":
      return text.check(z.email());
    case "uri":
      return text.check(z.url());
    case "date":
      return text.check(z.iso.date());
    case "date-time":
      return text.check(z.iso.datetime({ offset: true }));
    case undefined:
      return text;
    default:
      return format satisfies never;
  }
}

/** The values that a field with choices may have. */
export function choicesOf(field: QuestionField): string[] {
  if (field.type === "array") {
    return "enum" in field.items
      ? field.items.enum
      : field.items.anyOf.map((choice) => choice.const);
  }
  if ("oneOf" in field) return field.oneOf.map((choice) => choice.const);
  return "enum" in field ? field.enum : [];
}

function wanted(field: QuestionField): string {
  const choices = choicesOf(field);
  const among = choices.slice(0, 20).join(", ");
  if (field.type === "array")
    return `a list of some of: ${among}${bounds(field.minItems, field.maxItems, "entries")}`;
  if (choices.length > 0) return `one of: ${among}`;
  if (field.type === "boolean") return "true or false";
  if (field.type === "integer") return `a whole number${bounds(field.minimum, field.maximum, "")}`;
  if (field.type === "number") return `a number${bounds(field.minimum, field.maximum, "")}`;
  const { format, minLength, maxLength } = field as TextField; // the choices are excluded above
  return `a text${format === undefined ? "" : ` with the format ${format}`}${bounds(minLength, maxLength, "characters")}`;
}

function bounds(least: number | undefined, most: number | undefined, unit: string): string {
  const parts = [
    ...(least === undefined ? [] : [`at least ${least}`]),
    ...(most === undefined ? [] : [`at most ${most}`]),
  ];
  return parts.length === 0 ? "" : ` (${parts.join(", ")}${unit === "" ? "" : ` ${unit}`})`;
}
