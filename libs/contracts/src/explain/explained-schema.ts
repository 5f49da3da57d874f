import { z } from "zod";
import { exampleOf } from "./example-of.ts";
import { examples } from "./examples.ts";
import { exampleKey, textAt } from "./find-text.ts";
import { schemaNames } from "./schema-names.ts";

export type Json = Record<string, unknown>;

/** A property of a documented schema, as the check of the documents sees it. */
export interface ExplainedProperty {
  /** Its schema's name or position and its own name, such as `RunSummary.agent`. */
  readonly place: string;
  readonly schema: z.ZodType;
  readonly json: Json;
}

export interface ExplainOptions {
  readonly io: "input" | "output";
  readonly target?: "draft-7" | "draft-2020-12";
  /** The name of a schema that `libs/contracts` does not export by one, such as `runs.list.request`. */
  readonly place: string;
  /** Names of schemas of other packages, by schema. */
  readonly names?: ReadonlyMap<z.ZodType, string>;
  /** Called for each property. */
  readonly visit?: (property: ExplainedProperty) => void;
}

/**
 * Returns the JSON Schema of a schema with a description and an example at each property. Descriptions are not part of the schemas
 * themselves, because zod copies a schema for each of them: 2,000 copies take longer than 3 % of a service's start.
 */
export function explainedSchema(schema: z.ZodType, options: ExplainOptions): Json {
  const { io, target = "draft-2020-12" } = options;
  const { $schema: _ignored, ...json } = z.toJSONSchema(schema, { io, target }) as Json;
  explain(schema, json, options);
  return json;
}

/** Adds texts to the properties at any depth of `json`, which was made from `schema`. */
function explain(schema: z.ZodType, json: Json, options: ExplainOptions): void {
  const def: Definition = schema.def;
  const name = schemaNames().get(schema) ?? options.names?.get(schema);
  const at = name === undefined ? options : { ...options, place: name };
  switch (def.type) {
    case "object":
      for (const [key, property] of Object.entries(partsOf(json["properties"])))
        explainProperty(key, property, { owner: schema, options: at });
      break;
    case "array":
      explainPart(def.element, json["items"], at);
      break;
    case "tuple":
      for (const [index, item] of (def.items ?? []).entries())
        explainPart(item, Object(json["prefixItems"] ?? json["items"])[index], at);
      break;
    case "record":
      explainPart(def.valueType, json["additionalProperties"], at);
      break;
    case "union":
      for (const [index, option] of (def.options ?? []).entries())
        explainPart(option, Object(json["anyOf"] ?? json["oneOf"])[index], at);
      break;
    case "intersection":
      explainPart(def.left, Object(json["allOf"])[0], at);
      explainPart(def.right, Object(json["allOf"])[1], at);
      break;
    case "nullable":
      explainPart(def.innerType, Object(json["anyOf"])[0] ?? json, at);
      break;
    case "pipe":
      explainPart(options.io === "input" ? def.in : def.out, json, at);
      break;
    default:
      explainPart(def.innerType, json, at);
  }
}

function explainPart(part: z.ZodType | undefined, json: unknown, options: ExplainOptions): void {
  if (part !== undefined && isJson(json)) explain(part, json, options);
}

function explainProperty(
  name: string,
  json: Json,
  { owner, options }: { readonly owner: z.ZodType; readonly options: ExplainOptions },
): void {
  const { shape } = owner as z.ZodObject;
  const schema = shape[name] as z.ZodType | undefined;
  if (schema === undefined) return;
  const place = `${options.place}.${name}`;
  explain(schema, json, { ...options, place });
  const description = textAt(place, schema);
  if (description !== null) json["description"] = description;
  const key = exampleKey(place, schema);
  const example = key === null ? derivedExample(json, name) : examples[key];
  if (example !== undefined) json["examples"] = [example];
  options.visit?.({ place, schema, json });
}

/** Returns an example for a property without a written one; an object has those of its properties. */
function derivedExample(json: Json, name: string): unknown {
  return hasParts(json) ? undefined : exampleOf(json, name);
}

/** True when the examples are those of the properties inside. */
function hasParts(json: Json): boolean {
  if (isJson(json["properties"])) return Object.keys(json["properties"]).length > 0;
  return [json["items"], json["additionalProperties"], json["anyOf"], json["oneOf"], json["allOf"]]
    .flat()
    .some((part) => isJson(part) && hasParts(part));
}

/** The parts of zod's definitions that hold schemas. */
interface Definition {
  readonly type: string;
  readonly element?: z.ZodType;
  readonly items?: readonly z.ZodType[];
  readonly options?: readonly z.ZodType[];
  readonly valueType?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly left?: z.ZodType;
  readonly right?: z.ZodType;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
}

function partsOf(properties: unknown): Record<string, Json> {
  return (properties ?? {}) as Record<string, Json>;
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
