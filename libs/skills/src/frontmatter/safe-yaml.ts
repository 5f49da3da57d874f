import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from "yaml";
import { errorFinding, warningFinding, type Finding, type Position } from "../finding.ts";
import { positionOfSimpleValue } from "./simple-yaml-position.ts";
import { parseSimpleYaml } from "./simple-yaml.ts";
import type { YamlMapping } from "./yaml-value.ts";
import { mappingOf, Refusal, startOf, type DuplicateReport } from "./yaml-tree.ts";

/**
 * A reader of YAML from untrusted files: without aliases, anchors, tags or merge keys, with bounded depth and width, and values
 * without a prototype. `failsafe` keeps every scalar as the text that was written (a version `1.0` stays `1.0`); `core` gives
 * numbers, booleans and null their types.
 */
export type YamlSchema = "failsafe" | "core";

export type ParsedYaml =
  | {
      readonly values: YamlMapping;
      /** The position of the value at a path, or of its nearest parent that exists. */
      readonly locate: (path: readonly PropertyKey[]) => Position;
    }
  | {
      readonly problem: Finding;
      /** Mistakes that the library counted: more than a few, and it is no slip of a writer. */
      readonly mistakes: number;
    };

/** Beyond 32 levels it is refused anyway, and the library's time grows fast with brackets in brackets. */
const MAX_OPEN_BRACKETS = 48;
/** Public skills have at most 400. Marks dominate the parsing time of the library: 16 KB of brackets took it 0.2 s. */
const MAX_MARKS = 2_048;

export function parseYaml(text: string, options: YamlOptions): ParsedYaml {
  const simple = options.schema === "failsafe" ? parseSimpleYaml(text) : null;
  if (simple === null) return parseYamlByLibrary(text, options);
  return {
    values: simple,
    locate: (path) => {
      const position = positionOfSimpleValue(text, path, options.linesBefore ?? 0);
      if (position !== null) return position;
      const parsed = parseYamlByLibrary(text, options);
      if ("problem" in parsed)
        throw new Error("the simple reader took a text that the library refuses");
      return parsed.locate(path);
    },
  };
}

export interface YamlOptions {
  readonly schema: YamlSchema;
  readonly linesBefore?: number;
  /** With it, the last of equal keys counts, and each further one is reported here. */
  readonly onDuplicate?: (finding: Finding) => void;
}

export function parseYamlByLibrary(text: string, options: YamlOptions): ParsedYaml {
  if (options.schema === "failsafe" && countMarks(text) > MAX_MARKS) {
    return refused(tooComplex({ line: 1 + (options.linesBefore ?? 0), column: 1 }));
  }
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
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
      // "silent" is not used: it would drop a second document of the text without a warning.
      logLevel: "error",
      lineCounter: lines,
    }),
  );
  const { onDuplicate } = options;
  const reportDuplicate: DuplicateReport =
    onDuplicate === undefined
      ? null
      : (key, offset) => onDuplicate(duplicateKey(key, positionAt(offset)));
  const [error] = document.errors;
  if (error !== undefined) {
    const problem = errorFinding(
      "invalid_yaml",
      explain(error.code, error.message),
      positionAt(error.pos[0]),
    );
    return { problem, mistakes: document.errors.length };
  }
  try {
    return {
      values: mappingOf(document.contents, reportDuplicate),
      locate: (path) => positionAt(offsetOf(document, path)),
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return refused(errorFinding(refusal.code, refusal.message, positionAt(refusal.offset)));
  }
}

function refused(problem: Finding): ParsedYaml {
  return { problem, mistakes: 1 };
}

/** The library creates an error object for each mistake; their stack traces would take more time than all the rest. */
function withoutStackTraces<T>(work: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/**
 * Counts the characters that begin or end a node in YAML, which bounds the size of the tree before it is built. Returns Infinity
 * for a text that nests too deeply.
 */
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

function tooComplex(position: Position): Finding {
  return errorFinding(
    "frontmatter_too_complex",
    `the frontmatter has more than ${MAX_MARKS} lines, brackets, quotes and keys, or ${MAX_OPEN_BRACKETS} open brackets; move text into the body`,
    position,
  );
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isScalar(node) || isMap(node) || isSeq(node)) return startOf(node);
  }
  return startOf(document.contents);
}

function duplicateKey(key: string, position: Position): Finding {
  const message = `the key "${key}" stands here again; the last one counts`;
  return warningFinding("repaired_duplicate_key", message, position);
}

/** Explains the most common mistakes of real files, and how to fix them. */
function explain(code: string, message: string): string {
  switch (code) {
    case "BLOCK_AS_IMPLICIT_KEY":
      return "invalid YAML: text with `: ` in it must be in quotes";
    case "RESOURCE_EXHAUSTION":
      return "invalid YAML: nested too deeply";
    case "MULTIPLE_DOCS":
      return "invalid YAML: a second document begins here (a line --- or ...); only one is read";
    case "BAD_ALIAS":
      return "invalid YAML: text that starts with * must be in quotes";
    default:
      return `invalid YAML: ${message}`;
  }
}
