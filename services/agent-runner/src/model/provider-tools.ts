import { cutText } from "@switchyard/contracts/cut-text";
import type { OfferedTool } from "../core/tool-catalogue.ts";

type Json = Readonly<Record<string, unknown>>;

export interface ProviderTools {
  /** The tools in a form that model providers accept, without those that have no such form. */
  readonly tools: readonly OfferedTool[];
  /** The arguments of a call as the tool's own schema names them. */
  readonly restore: (tool: string, input: unknown) => unknown;
}

/**
 * A form that every built-in provider accepts, so that a run may change its provider: Anthropic wants property keys of this form, OpenAI refuses
 * arrays without items, and both refuse combinations of schemas at the top
 * (https://docs.claude.com/en/docs/agents-and-tools/tool-use, https://platform.openai.com/docs/guides/function-calling). Gemini refuses
 * deep schemas (https://ai.google.dev/gemini-api/docs/structured-output). Local servers with grammars have the same limits.
 */
const LIMITS = { depth: 10, characters: 100_000, description: 8_000 } as const;
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_KEY = 64;

/**
 * Adapts schemas for model providers, which refuse a whole request because of one tool that they do not accept. The provider of
 * the tool checks the arguments against the original schema, so a detail lost here costs a model another try, and never lets a
 * wrong call through.
 */
export function providerTools(offered: readonly OfferedTool[]): ProviderTools {
  const keys = new Map<string, ReadonlyMap<string, string>>();
  const tools: OfferedTool[] = [];
  for (const tool of offered) {
    const form = adaptedSchema(tool.inputSchema);
    if (form === null) continue;
    const { inputSchema, hint, renamed } = form;
    const description = hint === "" ? tool.description : `${tool.description} ${hint}`.trim();
    tools.push({ ...tool, description: cutText(description, LIMITS.description), inputSchema });
    if (renamed.size > 0) keys.set(tool.name, renamed);
  }
  return {
    tools,
    restore(tool, input) {
      const renamed = keys.get(tool);
      return renamed === undefined ? input : restored(input, renamed);
    },
  };
}

interface AdaptedSchema {
  readonly inputSchema: Json;
  /** Describes in words what the schema no longer has. */
  readonly hint: string;
  /** The original of each key that was renamed. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** Each step of a run offers the same schemas again. */
const adaptedSchemas = new WeakMap<Json, AdaptedSchema | null>();

/** Null for a schema that is too large. */
function adaptedSchema(original: Json): AdaptedSchema | null {
  const known = adaptedSchemas.get(original);
  if (known !== undefined) return known;
  const { schema, hint } = withoutTopCombinations(original);
  const renamed = new Map<string, string>();
  const taken = new Set<string>();
  collectKeys(schema, taken);
  const inputSchema = adapted(schema, { depth: 0, renamed, taken });
  const isTooLarge = JSON.stringify(inputSchema).length > LIMITS.characters;
  const form = isTooLarge ? null : { inputSchema, hint, renamed };
  adaptedSchemas.set(original, form);
  return form;
}

const COMBINATIONS = ["allOf", "anyOf", "oneOf"] as const;
const CONDITIONS = ["not", "if", "then", "else", "enum", "const", "dependentSchemas"] as const;

/** Returns the schema without combinations of others at its top; the hint describes them to the model in words. */
function withoutTopCombinations(root: Json): { readonly schema: Json; readonly hint: string } {
  const own = resolved(root, root);
  const isCombined = [...COMBINATIONS, ...CONDITIONS].some((keyword) => keyword in own);
  if (!isCombined && own === root) return { schema: root, hint: "" };
  const properties: Record<string, unknown> = { ...objectOf(own["properties"]) };
  const required = new Set(namesOf(own["required"]));
  const hints: string[] = [];
  for (const keyword of COMBINATIONS) {
    const branches = listOf(own[keyword]).map((branch) => resolved(objectOf(branch), root));
    for (const branch of branches)
      for (const [name, schema] of Object.entries(objectOf(branch["properties"])))
        properties[name] ??= schema;
    const needs = branches.map((branch) => namesOf(branch["required"]));
    if (keyword === "allOf") for (const name of needs.flat()) required.add(name);
    else if (needs.some((names) => names.length > 0))
      hints.push(needs.map((names) => names.join(" and ") || "nothing more").join(", or "));
  }
  const dropped = new Set<string>([...COMBINATIONS, ...CONDITIONS, "$ref"]);
  const kept = Object.entries(own).filter(([keyword]) => !dropped.has(keyword));
  const known = [...required].filter((name) => Object.hasOwn(properties, name));
  const schema = {
    ...Object.fromEntries(kept),
    type: "object",
    properties,
    ...(known.length > 0 && { required: known }),
  };
  return { schema, hint: hints.map((hint) => `Required: ${hint}.`).join(" ") };
}

/** The schema that a local reference names, else the schema itself. */
function resolved(schema: Json, root: Json): Json {
  const { $ref: reference, ...beside } = schema;
  const [, map = "", name = ""] =
    /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(reference)) ?? [];
  const target = objectOf(objectOf(root[map])[name]);
  if (Object.keys(target).length === 0) return schema;
  return { ...target, ...beside };
}

interface Work {
  readonly depth: number;
  /** The original of each key that was renamed. */
  readonly renamed: Map<string, string>;
  /** Keys of the whole schema, which a new one must not be. */
  readonly taken: Set<string>;
}

const OF_ONE = ["items", "additionalProperties", "contains", "not", "if", "then", "else"];
const OF_LIST = ["anyOf", "oneOf", "allOf", "prefixItems"];
const OF_MAP = ["$defs", "definitions", "patternProperties"];

function adapted(schema: Json, work: Work): Json {
  const { depth } = work;
  const { type, description } = schema;
  if (depth > LIMITS.depth)
    return {
      ...(type !== undefined && { type }),
      ...(description !== undefined && { description }),
    };
  const inner = { ...work, depth: depth + 1 };
  const below = (value: unknown): unknown => (isObject(value) ? adapted(value, inner) : value);
  const result: Record<string, unknown> = { ...schema };
  for (const keyword of OF_ONE) if (keyword in schema) result[keyword] = below(schema[keyword]);
  for (const keyword of OF_LIST)
    if (Array.isArray(schema[keyword])) result[keyword] = schema[keyword].map(below);
  for (const keyword of OF_MAP)
    if (isObject(schema[keyword])) result[keyword] = mapOf(schema[keyword], below);
  // The tuples of draft 4, which providers read as one schema.
  if (Array.isArray(schema["items"])) result["items"] = { anyOf: schema["items"].map(below) };
  const isArray = type === "array" || (Array.isArray(type) && type.includes("array"));
  if (isArray && result["items"] === undefined) result["items"] = {};
  if (!isObject(schema["properties"])) return result;
  const names = new Map(Object.keys(schema["properties"]).map((key) => [key, newKey(key, work)]));
  result["properties"] = Object.fromEntries(
    Object.entries(schema["properties"]).map(([key, value]) => [
      names.get(key) ?? key,
      names.get(key) === key ? below(value) : named(below(value), key),
    ]),
  );
  if (Array.isArray(schema["required"]))
    result["required"] = namesOf(schema["required"]).map(
      (key) => names.get(key) ?? newKey(key, work),
    );
  return result;
}

/** One key has one new form in the whole schema, so that arguments can be restored without it. */
function newKey(key: string, { renamed, taken }: Work): string {
  if (KEY.test(key)) return key;
  for (const [known, original] of renamed) if (original === key) return known;
  const plain = key.replaceAll(/[^a-zA-Z0-9_.-]/g, "_").slice(0, MAX_KEY - 4) || "_";
  let free = plain;
  for (let count = 2; taken.has(free); count += 1) free = `${plain}_${count}`;
  taken.add(free);
  renamed.set(free, key);
  return free;
}

function named(schema: unknown, key: string): unknown {
  if (!isObject(schema)) return schema;
  const { description } = schema;
  const own = `The tool calls it ${JSON.stringify(cutText(key, 200))}.`;
  return {
    ...schema,
    description: typeof description === "string" ? `${description} ${own}` : own,
  };
}

function collectKeys(value: unknown, keys: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collectKeys(item, keys);
  if (!isObject(value)) return;
  for (const key of Object.keys(objectOf(value["properties"]))) keys.add(key);
  for (const member of Object.values(value)) collectKeys(member, keys);
}

function restored(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => restored(item, renamed));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      renamed.get(key) ?? key,
      restored(member, renamed),
    ]),
  );
}

function mapOf(map: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function namesOf(value: unknown): string[] {
  return listOf(value).filter((name): name is string => typeof name === "string");
}
