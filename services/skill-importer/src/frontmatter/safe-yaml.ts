import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
} from "yaml";
import { errorFinding, warningFinding, type Finding, type Place } from "../finding.ts";
import { parseSimpleYaml } from "./simple-yaml.ts";

/**
 * YAML from files that nobody vouches for. No aliases, anchors, tags or merge keys, bounded depth and
 * width, and values without a prototype. `failsafe` keeps every scalar as the text that was written
 * (a version `1.0` stays `1.0`); `core` gives numbers, booleans and null their types.
 */
export type YamlSchema = "failsafe" | "core";

export type YamlValue = string | number | boolean | null | YamlValue[] | YamlMapping;
export interface YamlMapping {
  [key: string]: YamlValue;
}

export type ParsedYaml =
  | {
      readonly values: YamlMapping;
      /** The place of the value at a path, or of its nearest parent that exists. */
      readonly locate: (path: readonly PropertyKey[]) => Place;
    }
  | {
      readonly problem: Finding;
      /** Mistakes that the library counted: more than a few, and it is no slip of a writer. */
      readonly mistakes: number;
    };

const MAX_DEPTH = 32;
const MAX_KEYS = 128;
/** Beyond {@link MAX_DEPTH} it is refused anyway, and the library's time grows fast with brackets in brackets. */
const MAX_OPEN_BRACKETS = 48;
/** Public skills have at most 400. The library's time goes with these, and 16 KB of brackets took it 0.2 s. */
const MAX_MARKS = 2_048;
const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);

export function parseYaml(text: string, options: YamlOptions): ParsedYaml {
  const simple = options.schema === "failsafe" ? parseSimpleYaml(text) : null;
  return simple === null
    ? parseYamlByLibrary(text, options)
    : { values: simple, locate: (path) => placeByLibrary(text, options, path) };
}

export interface YamlOptions {
  readonly schema: YamlSchema;
  readonly linesBefore?: number;
  /** Given: the last of equal keys counts, and each further one is reported here. */
  readonly onDuplicate?: (finding: Finding) => void;
}

/** Places are asked for only when there is something to say about them. */
function placeByLibrary(text: string, options: YamlOptions, path: readonly PropertyKey[]): Place {
  const parsed = parseYamlByLibrary(text, options);
  if ("problem" in parsed)
    throw new Error("the simple reader took a text that the library refuses");
  return parsed.locate(path);
}

export function parseYamlByLibrary(text: string, options: YamlOptions): ParsedYaml {
  if (options.schema === "failsafe" && countMarks(text) > MAX_MARKS) {
    return refused(tooComplex({ line: 1 + (options.linesBefore ?? 0), column: 1 }));
  }
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: line + (options.linesBefore ?? 0), column: col };
  };
  const document = withoutStackTraces(() =>
    parseDocument(text, {
      version: "1.2",
      schema: options.schema,
      merge: false,
      customTags: [],
      // The library's own check compares every key with every other; ours is one set per mapping.
      uniqueKeys: false,
      strict: true,
      prettyErrors: false,
      logLevel: "silent",
      lineCounter: lines,
    }),
  );
  const { onDuplicate } = options;
  const reportDuplicate: DuplicateReport =
    onDuplicate === undefined
      ? null
      : (key, offset) => onDuplicate(duplicateKey(key, placeAt(offset)));
  const [error] = document.errors;
  if (error !== undefined) {
    const problem = errorFinding(
      "invalid_yaml",
      explain(error.code, error.message),
      placeAt(error.pos[0]),
    );
    return { problem, mistakes: document.errors.length };
  }
  try {
    return {
      values: rootOf(document.contents, reportDuplicate),
      locate: (path) => placeAt(offsetOf(document, path)),
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return refused(errorFinding(refusal.code, refusal.message, placeAt(refusal.offset)));
  }
}

function refused(problem: Finding): ParsedYaml {
  return { problem, mistakes: 1 };
}

/** The library makes an error object for each mistake; their traces would take more time than all the rest. */
function withoutStackTraces<T>(work: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** What begins or ends something in YAML: the size of the tree, before there is one. Endless where it is too deep. */
function countMarks(text: string): number {
  let count = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth = Math.max(0, depth - 1);
    if (depth > MAX_OPEN_BRACKETS) return Infinity;
    if (ALWAYS_A_MARK.has(code)) count += 1;
    // `: `, `- ` and `? ` at the end of a line are counted by the line's end.
    else if (code === 0x20 && BEFORE_SPACE.has(text.charCodeAt(index - 1))) count += 1;
  }
  return count;
}

const ALWAYS_A_MARK = codesOf("\n\"'{}[]");
const BEFORE_SPACE = codesOf("-:?,");

function codesOf(characters: string): ReadonlySet<number> {
  return new Set(characters.split("").map((character) => character.charCodeAt(0)));
}

function tooComplex(place: Place): Finding {
  return errorFinding(
    "frontmatter_too_complex",
    `the frontmatter has more than ${MAX_MARKS} lines, brackets, quotes and keys, or ${MAX_OPEN_BRACKETS} open brackets; move text into the body`,
    place,
  );
}

/** Carries a refusal out of the recursion below; never leaves this file. */
class Refusal extends Error {
  readonly code: string;
  readonly offset: number;

  constructor(code: string, message: string, offset: number) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/** Null: two equal keys are refused. */
type DuplicateReport = ((key: string, offset: number) => void) | null;

function duplicateKey(key: string, place: Place): Finding {
  const message = `the key "${key}" stands here again; the last one counts`;
  return warningFinding("repaired_duplicate_key", message, place);
}

function rootOf(contents: Node | null, report: DuplicateReport): YamlMapping {
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
  return mappingOf(node, depth, report);
}

function mappingOf(node: YAMLMap, depth: number, report: DuplicateReport): YamlMapping {
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

function startOf(node: unknown, otherwise = 0): number {
  const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : null;
  return range?.[0] ?? otherwise;
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isScalar(node) || isMap(node) || isSeq(node)) return startOf(node);
  }
  return startOf(document.contents);
}

function emptyMapping(): YamlMapping {
  return Object.create(null) as YamlMapping; // nothing inherited, so no key can mean more than it says
}

/** The commonest mistakes of real files, in words that say what to do. */
function explain(code: string, message: string): string {
  switch (code) {
    case "BLOCK_AS_IMPLICIT_KEY":
      return "invalid YAML: text with `: ` in it must stand in quotes";
    case "RESOURCE_EXHAUSTION":
      return "invalid YAML: nested too deeply";
    case "BAD_ALIAS":
      return "invalid YAML: text that starts with * must stand in quotes";
    default:
      return `invalid YAML: ${message}`;
  }
}
