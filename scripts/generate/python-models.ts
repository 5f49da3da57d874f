import { schemaText } from "./shared-schemas.ts";
import { docString, pythonValue } from "./python-text.ts";

type Json = Record<string, unknown>;

const PREFIX = "#/components/schemas/";
/** Words of the language that cannot name an attribute, so that the class is written as a call. */
const KEYWORDS = new Set("and as except from if in is not or pass while with".split(" "));

/** The types of a document's schemas in Python: a TypedDict for each object, and an alias for every other schema that has a name. */
export class PythonModels {
  readonly #schemas: Readonly<Record<string, Json>>;
  readonly #texts = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  /** The names of objects by their schema, so that an object that occurs twice is one class. */
  readonly #objects = new Map<string, string>();

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.#schemas = schemas;
  }

  /** The type of a schema. An object without a name of its own is called after its position. */
  typeOf(schema: Json, position: string): string {
    const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema;
    if (typeof $ref === "string") return this.#named($ref.slice(PREFIX.length));
    if (Array.isArray(allOf) && allOf.length === 1) return this.typeOf(allOf[0] as Json, position);
    if ("const" in schema) return literal([schema["const"]]);
    if (Array.isArray(values)) return literal(values);
    const parts = anyOf ?? oneOf;
    if (Array.isArray(parts))
      return union((parts as Json[]).map((part) => this.typeOf(part, position + variant(part))));
    if (Array.isArray(type))
      return union(type.map((one) => this.typeOf({ ...schema, type: one as string }, position)));
    switch (type) {
      case "object":
        return this.#object(schema, position);
      case "array":
        return this.#list(schema, position);
      case "string":
        return "str";
      case "boolean":
        return "bool";
      case "null":
        return "None";
      case "integer":
        return "int";
      case "number":
        return "float";
      default:
        return "Any";
    }
  }

  /** Adds an alias of a type expression, which may name classes of this module. */
  alias(name: string, type: string): void {
    this.#aliases.set(name, type);
  }

  /** The classes and aliases of all types so far, in the order of their names. */
  text(): string {
    const sorted = [...this.#texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const aliases = [...this.#aliases].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [
      ...sorted.map(([, text]) => text),
      aliases.map(([name, type]) => `${name} = ${evaluated(type)}`).join("\n"),
    ].join("\n\n\n");
  }

  #named(name: string): string {
    const schema = this.#schemas[name];
    if (schema === undefined) throw new Error(`there is no schema ${name}`);
    // A shared schema without a name of its own is called after its first position.
    if (!/^[A-Z][A-Za-z]*$/.test(name)) return this.typeOf(schema, pascal(name));
    if (this.#texts.has(name) || this.#aliases.has(name)) return name;
    if (isClass(schema)) {
      this.#objects.set(schemaText(schema), name);
      this.#texts.set(name, "");
      this.#texts.set(name, this.#class(name, schema));
      return name;
    }
    this.#aliases.set(name, "Any");
    this.#aliases.set(name, this.typeOf(schema, name));
    return name;
  }

  #object(schema: Json, position: string): string {
    if (!isClass(schema)) {
      const more = schema["additionalProperties"];
      const isAnything = typeof more !== "object" || more === null;
      return `dict[str, ${isAnything ? "Any" : this.typeOf(more as Json, `${position}Value`)}]`;
    }
    const key = schemaText(schema);
    const known = this.#objects.get(key);
    if (known !== undefined) return known;
    let name = position;
    for (let number = 2; this.#texts.has(name) || name in this.#schemas; number += 1)
      name = `${position}${number}`;
    this.#objects.set(key, name);
    this.#texts.set(name, "");
    this.#texts.set(name, this.#class(name, schema));
    return name;
  }

  #list({ items }: Json, position: string): string {
    if (!Array.isArray(items)) return `list[${this.typeOf((items ?? {}) as Json, position)}]`;
    const types = items.map((item, index) => this.typeOf(item as Json, `${position}${index}`));
    return `list[${union(types)}]`;
  }

  #class(name: string, schema: Json): string {
    const { properties, required, description } = schema;
    const needed = new Set(Array.isArray(required) ? (required as string[]) : []);
    const fields = Object.entries(properties as Record<string, Json>).map(([field, part]) => {
      const type = this.typeOf(part, `${name}${pascal(field)}`);
      return { field, part, type: needed.has(field) ? type : `NotRequired[${type}]` };
    });
    if (fields.some(({ field }) => KEYWORDS.has(field) || !/^\w+$/.test(field)))
      return [
        ...fields.map(({ field, part }) => `# ${field}: ${textOf(part["description"])}`),
        `${name} = TypedDict(\n    "${name}",\n    {`,
        ...fields.map(({ field, type }) => `        "${field}": ${quoted(type)},`),
        "    },\n)",
      ].join("\n");
    return [
      `class ${name}(TypedDict):`,
      ...(typeof description === "string" ? [`${docString([description], 4)}\n`] : []),
      ...fields.map(({ field, part, type }) => {
        const text = textOf(part["description"]);
        return `    ${field}: ${type}${text === "" ? "" : `\n${docString([text], 4)}`}`;
      }),
    ].join("\n");
  }
}

/** A name in the form of classes: `run.tool-denied` is `RunToolDenied`. */
export function pascal(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join("");
}

function isClass({ type, properties }: Json): boolean {
  return type === "object" && Object.keys(properties ?? {}).length > 0;
}

/** The constant that distinguishes an alternative, as a part of a name. */
function variant(part: Json): string {
  const fields = Object.values((part["properties"] ?? {}) as Record<string, Json>);
  const found = fields.find((field) => typeof field["const"] === "string");
  return found === undefined ? "" : pascal(String(found["const"]));
}

function literal(values: readonly unknown[]): string {
  return `Literal[${values.map(pythonValue).join(", ")}]`;
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  return distinct.includes("Any") ? "Any" : distinct.join(" | ");
}

/** An alias is evaluated, which annotations are not: Python 3.9 has no `|`, and an alias may name another one below it. */
function evaluated(type: string): string {
  const parts = splitUnion(type);
  return parts.length === 1 ? type : `Union[${parts.map(quoted).join(", ")}]`;
}

function quoted(type: string): string {
  return type.includes('"') ? `'${type}'` : `"${type}"`;
}

/** Splits at the `|` that are in no brackets and in no text. */
function splitUnion(type: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let rest = "";
  for (const part of type.split(" | ")) {
    rest = rest === "" ? part : `${rest} | ${part}`;
    depth = rest.split("[").length - rest.split("]").length;
    if (depth > 0) continue;
    parts.push(rest);
    rest = "";
  }
  return parts;
}

/** A description, or an empty text where there is none. */
export function textOf(text: unknown): string {
  return typeof text === "string" ? text : "";
}
