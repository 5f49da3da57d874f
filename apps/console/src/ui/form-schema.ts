/** A JSON Schema, as far as the form reads it. */
export interface FormSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, FormSchema>>;
  readonly definitions?: Readonly<Record<string, FormSchema>>;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, FormSchema>>;
  readonly required?: readonly string[];
  readonly items?: FormSchema;
  readonly oneOf?: readonly FormSchema[];
  readonly anyOf?: readonly FormSchema[];
  readonly allOf?: readonly FormSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** A definition may use itself; a chain of names is not followed further. */
const MOST_NAMES = 16;

/**
 * Resolves a schema: a reference to one of the root's definitions, a single schema in `allOf`, or one that may also be `null`, as
 * Python's models write optional values. Its title, description and default stay.
 */
export function plainOf(schema: FormSchema, root: FormSchema): FormSchema {
  let plain = schema;
  for (let names = 0; names < MOST_NAMES; names += 1) {
    const inner = innerOf(plain, root);
    if (inner === null) return plain;
    const { $ref: _ref, allOf: _all, anyOf: _any, oneOf: _one, ...about } = plain;
    plain = { ...inner, ...about };
  }
  return plain;
}

function innerOf({ $ref, allOf, anyOf, oneOf }: FormSchema, root: FormSchema): FormSchema | null {
  if ($ref !== undefined) return definitionOf($ref, root);
  if (allOf?.length === 1) return allOf[0] ?? null;
  const alternatives = oneOf ?? anyOf;
  if (alternatives === undefined) return null;
  const real = alternatives.filter(({ type }) => type !== "null");
  return real.length === 1 ? (real[0] ?? null) : null;
}

function definitionOf(ref: string, root: FormSchema): FormSchema | null {
  const [, kind = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const definitions = kind === "$defs" ? root.$defs : root.definitions;
  return definitions?.[name.replaceAll("~1", "/").replaceAll("~0", "~")] ?? null;
}

/** The alternatives of a schema; null where there is only one. Each is resolved. */
export function alternativesOf(schema: FormSchema, root: FormSchema): readonly FormSchema[] | null {
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives === undefined || schema.properties !== undefined) return null;
  return alternatives.filter(({ type }) => type !== "null").map((one) => plainOf(one, root));
}

/** Values to choose from, each with its label; null where any value may be entered. */
export function choicesOf(
  { enum: values, const: only, oneOf, anyOf }: FormSchema,
  root: FormSchema,
): readonly { readonly value: unknown; readonly name: string }[] | null {
  if (values !== undefined) return values.map((value) => ({ value, name: textOf(value) }));
  if (only !== undefined) return [{ value: only, name: textOf(only) }];
  const named = (oneOf ?? anyOf)?.map((one) => plainOf(one, root));
  if (named === undefined || named.some((one) => one.const === undefined)) return null;
  return named.map(({ const: value, title }) => ({ value, name: title ?? textOf(value) }));
}

/** The label of an alternative: its title, else its distinguishing member, else its type. */
export function nameOf(schema: FormSchema, at: number): string {
  const [constant] = Object.values(schema.properties ?? {}).flatMap((part) => part.const ?? []);
  if (schema.title !== undefined) return schema.title;
  return constant === undefined ? (typeOf(schema) ?? `kind ${at + 1}`) : textOf(constant);
}

/** Returns the index of the alternative that fits a value by its type, or, for an object, by its `const` members. */
export function alternativeOf(value: unknown, alternatives: readonly FormSchema[]): number {
  const fits = alternatives.findIndex((one) => hasTypeOf(one, value) && hasConstsOf(one, value));
  return Math.max(0, fits);
}

function hasTypeOf(schema: FormSchema, value: unknown): boolean {
  switch (typeOf(schema)) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
    case "number":
      return typeof value === "number";
    case "string":
    case "boolean":
      return typeof value === typeOf(schema);
    default:
      return false;
  }
}

function hasConstsOf({ properties = {} }: FormSchema, value: unknown): boolean {
  return Object.entries(properties).every(
    ([name, part]) =>
      part.const === undefined || (value as Record<string, unknown>)[name] === part.const,
  );
}

/** A form's initial value: defaults and single values, and within them required members. */
export function initialOf(given: FormSchema, root: FormSchema): unknown {
  const schema = plainOf(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (typeOf(schema) !== "object" || schema.properties === undefined) return undefined;
  const entries = Object.entries(schema.properties).flatMap(([name, part]) => {
    const isNeeded = schema.required?.includes(name) ?? false;
    const hasDefault = plainOf(part, root).default !== undefined;
    // Optional members are skipped: a definition may refer to itself.
    const initial = isNeeded || hasDefault ? initialOf(part, root) : undefined;
    return initial === undefined ? [] : [[name, initial] as const];
  });
  return Object.fromEntries(entries);
}

/** The initial value of a new item of a list, or of another alternative. */
export function freshOf(given: FormSchema, root: FormSchema): unknown {
  const initial = initialOf(given, root);
  if (initial !== undefined) return initial;
  const schema = plainOf(given, root);
  switch (typeOf(schema)) {
    case "object":
      return {};
    case "array":
      return [];
    case "boolean":
      return false;
    case "number":
    case "integer":
      return schema.minimum ?? 0;
    default:
      return "";
  }
}

/** The type that is not `null`. */
export function typeOf({ type, properties }: FormSchema): string | undefined {
  if (Array.isArray(type)) return (type as string[]).find((one) => one !== "null");
  return typeof type === "string" ? type : properties === undefined ? undefined : "object";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
