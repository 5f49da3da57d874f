import { z } from "zod";

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** Texts that contracts ask for: names, ids, digests, times, addresses. */
const TEXTS = [
  "files",
  `sha256:${"0".repeat(64)}`,
  "0".repeat(64),
  "2026-01-01T00:00:00.000Z",
  "http://127.0.0.1:1/",
  `apr-${"0".repeat(32)}`,
  `grt-${"0".repeat(32)}`,
  `key-${"0".repeat(16)}`,
  `policy-${"0".repeat(16)}:1`,
  `ses-${"0".repeat(16)}`,
  `lnk-${"0".repeat(16)}`,
  `link-${"a".repeat(26)}`,
  `snd-${"0".repeat(32)}`,
  `in-${"0".repeat(32)}`,
  `file-${"0".repeat(32)}`,
  `q-${"0".repeat(16)}`,
  `ses-${"0".repeat(26)}-0`,
  "text/plain",
  `job-${"0".repeat(16)}`,
  "00000000-0000-0000-0000-000000000000",
  "1:files",
  "aaaa",
  "",
  "/files",
  "0".repeat(16),
  `policy-${"0".repeat(16)}:1`,
  "A".repeat(43),
  "A".repeat(86),
  "1:1",
];

/**
 * A minimal request that a schema accepts. `values` are by the names of properties and replace generated values, where they have
 * the right type. Throws where a schema requires more than this can generate.
 */
export function sampleRequest(
  schema: z.ZodType,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const json = z.toJSONSchema(schema, { io: "input" }) as JsonSchema; // its own kind of JSON Schema
  return sampleOf(json, { defs: json.$defs ?? {}, values }) as Record<string, unknown>; // requests are objects
}

/** Options that all parts of a sample share. */
export interface SampleOptions {
  /** Definitions by the last word of `$ref`. */
  readonly defs: Readonly<Record<string, JsonSchema>>;
  /** Values by the names of properties. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Includes all optional properties of a schema, not only the required ones. */
  readonly isFull?: boolean;
}

/** Generates a value like {@link sampleRequest}, from a JSON Schema. */
export function sampleOf(schema: JsonSchema, options: SampleOptions): unknown {
  const { defs, values = {}, isFull = false } = options;
  const next = (part: JsonSchema) => sampleOf(part, options);
  const [choice] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (choice !== undefined) return next(choice);
  if (schema.$ref !== undefined) return next(defs[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  if ("const" in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (typesOf(schema)[0]) {
    case "object": {
      const { properties = {}, required = [] } = schema;
      const parts = (isFull ? Object.keys(properties) : required).map((name) => {
        const part = properties[name] ?? {};
        return [name, fits(part, values[name]) ? values[name] : next(part)];
      });
      return Object.fromEntries(parts);
    }
    case "array":
      return Array.from({ length: schema.minItems ?? Number(isFull) }, () =>
        next(schema.items ?? {}),
      );
    case "string": {
      const pattern = new RegExp(schema.pattern ?? "");
      const { minLength = 0 } = schema;
      return TEXTS.find((text) => pattern.test(text) && text.length >= minLength) ?? "files";
    }
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 1, 1);
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return {};
  }
}

/** Undefined fits nothing. */
function fits(schema: JsonSchema, value: unknown): boolean {
  if (value === undefined) return false;
  const types = [schema, ...(schema.anyOf ?? [])].flatMap((part) => typesOf(part));
  return types.length === 0 || types.includes(Array.isArray(value) ? "array" : typeof value);
}

function typesOf({ type = [] }: JsonSchema): readonly string[] {
  return typeof type === "string" ? [type] : type;
}
