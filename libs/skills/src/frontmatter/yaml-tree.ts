import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from "yaml";
import { emptyMapping, FORBIDDEN_KEYS, type YamlMapping, type YamlValue } from "./yaml-value.ts";

const MAX_DEPTH = 32;
const MAX_KEYS = 128;

/** The reason why a tree is refused, and its position in the text. */
export class Refusal extends Error {
  readonly code: string;
  readonly offset: number;

  constructor(code: string, message: string, offset: number) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/** Called with each further one of equal keys, of which the last counts; null: they are refused. */
export type DuplicateReport = ((key: string, offset: number) => void) | null;

/** The values of a whole document. Throws a {@link Refusal}. */
export function mappingOf(contents: Node | null, report: DuplicateReport): YamlMapping {
  if (contents === null) return emptyMapping();
  const value = plainValue(contents, 1, report);
  // An empty document is one empty scalar: null in the core schema, "" in the failsafe one.
  if (value === null || value === "") return emptyMapping();
  if (isMap(contents) && typeof value === "object" && !Array.isArray(value)) return value;
  throw new Refusal(
    "not_a_mapping",
    "there must be lines of the form `key: value`",
    startOf(contents),
  );
}

/** Returns where a node begins in the text. */
export function startOf(node: unknown, otherwise = 0): number {
  const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : null;
  return range?.[0] ?? otherwise;
}

function plainValue(node: unknown, depth: number, report: DuplicateReport): YamlValue {
  if (isAlias(node)) {
    throw new Refusal(
      "yaml_alias",
      `*${node.source} is a YAML alias, which is not supported; put text that starts with * into quotes`,
      startOf(node),
    );
  }
  // An omitted value has no node of its own.
  if (node === null || node === undefined) return null;
  if (isScalar(node)) {
    refuseProperties(node);
    return scalarValue(node.value);
  }
  if (!isMap(node) && !isSeq(node))
    throw new TypeError("a YAML document holds an unknown kind of node");
  refuseProperties(node);
  if (depth > MAX_DEPTH) {
    throw new Refusal("yaml_too_deep", `nested deeper than ${MAX_DEPTH} levels`, startOf(node));
  }
  if (isSeq(node)) return node.items.map((item) => plainValue(item, depth + 1, report));
  return nestedMapping(node, depth, report);
}

function nestedMapping(node: YAMLMap, depth: number, report: DuplicateReport): YamlMapping {
  const pairs: readonly Pair[] = node.items;
  const start = startOf(node);
  if (pairs.length > MAX_KEYS) {
    throw new Refusal(
      "yaml_too_wide",
      `${pairs.length} keys in one mapping, the limit is ${MAX_KEYS}`,
      start,
    );
  }
  const mapping = emptyMapping();
  for (const pair of pairs) {
    const key = keyOf(pair.key, start);
    if (Object.hasOwn(mapping, key)) {
      const offset = startOf(pair.key, start);
      if (report === null) {
        throw new Refusal("duplicate_key", `the key "${key}" stands here twice`, offset);
      }
      report(key, offset);
    }
    mapping[key] = plainValue(pair.value, depth + 1, report);
  }
  return mapping;
}

function keyOf(node: unknown, start: number): string {
  if (!isScalar(node)) {
    throw new Refusal("invalid_key", "a key must be plain text", startOf(node, start));
  }
  refuseProperties(node);
  const key = typeof node.value === "string" ? node.value : (node.source ?? "");
  if (FORBIDDEN_KEYS.has(key)) {
    throw new Refusal("forbidden_key", `the key "${key}" is not allowed`, startOf(node));
  }
  return key;
}

function scalarValue(value: unknown): YamlValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return value;
  throw new TypeError(`a YAML scalar became a ${typeof value}`);
}

function refuseProperties(node: Node): void {
  if ("anchor" in node && node.anchor !== undefined) {
    throw new Refusal(
      "yaml_anchor",
      "YAML anchors are not supported; put text that starts with & into quotes",
      startOf(node),
    );
  }
  if (node.tag !== undefined) {
    throw new Refusal(
      "yaml_tag",
      "YAML tags are not supported; put text that starts with ! into quotes",
      startOf(node),
    );
  }
}
