import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type Document,
} from "yaml";

/** A problem with the content of a file: the path in it, and a sentence for its author. */
export interface ShapeProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** One problem with a file, and its position. Lines and columns count from 1. */
export interface FileProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Larger files are refused. */
export const MAX_FILE_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 50;

/** The result of checking the content of a file: its value, or its problems with their paths. */
export type Checked<T> =
  | { readonly value: T; readonly problems: readonly [] }
  | { readonly value: null; readonly problems: readonly ShapeProblem[] };

export type YamlFile<T> =
  | {
      readonly value: T;
      /** The line of a mapping's key or of a list's entry. */
      readonly lineOf: (path: readonly PropertyKey[]) => number;
      /** The same with its column. */
      readonly positionOf: (path: readonly PropertyKey[]) => { line: number; column: number };
      readonly problems: readonly [];
    }
  | { readonly value: null; readonly problems: readonly FileProblem[] };

/**
 * Reads a YAML text, in the strict form of Switchyard's files, and lets `check` judge its content. Never throws for the content of the
 * text.
 */
export function readYaml<T extends object>(
  text: string,
  check: (content: unknown) => Checked<T>,
): YamlFile<T> {
  try {
    const read = readDocument(text, check);
    if (read.value !== null) return read;
    return { value: null, problems: read.problems.toSorted(byPosition).slice(0, MAX_PROBLEMS) };
  } catch (error) {
    // The YAML parser is recursive; a file of brackets runs it out of stack.
    if (!(error instanceof RangeError)) throw error;
    return failed([{ line: 1, column: 1, message: "the file is nested too deeply" }]);
  }
}

/** `file:line:column: message`, as compilers write it. */
export function problemLine(file: string, { line, column, message }: FileProblem): string {
  return `${file}:${line}:${column}: ${message}`;
}

function readDocument<T extends object>(
  text: string,
  check: (content: unknown) => Checked<T>,
): YamlFile<T> {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
    const message = `the file is larger than ${MAX_FILE_BYTES} bytes`;
    return failed([{ line: 1, column: 1, message }]);
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    schema: "core",
    merge: false,
    stringKeys: true,
    prettyErrors: false,
    logLevel: "error", // "silent" would drop a second document without a word
  });
  const at = (offset: number, message: string): FileProblem => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), message };
  };
  const syntax = syntaxProblems(document);
  if (syntax.length > 0) return failed(syntax.map(({ offset, message }) => at(offset, message)));
  const checked = check(document.toJS());
  if (checked.value === null) {
    return failed(
      checked.problems.map(({ path, message }) => at(offsetOf(document, path), message)),
    );
  }
  const positionOf = (path: readonly PropertyKey[]) => {
    const { line, column } = at(offsetOf(document, path), "");
    return { line, column };
  };
  return {
    value: checked.value,
    problems: [],
    lineOf: (path) => positionOf(path).line,
    positionOf,
  };
}

function failed(problems: readonly FileProblem[]): {
  value: null;
  problems: readonly FileProblem[];
} {
  return { value: null, problems };
}

interface SyntaxProblem {
  readonly offset: number;
  readonly message: string;
}

/**
 * The problems that YAML itself finds, and constructs that it allows but Switchyard's files must not have: a reader has to see a value
 * where it is written.
 */
function syntaxProblems(document: Document.Parsed): SyntaxProblem[] {
  const found = [...document.errors, ...document.warnings];
  const exhausted = found.find((problem) => problem.code === "RESOURCE_EXHAUSTION");
  if (exhausted !== undefined) {
    return [{ offset: exhausted.pos[0], message: "the file is nested too deeply" }];
  }
  const problems: SyntaxProblem[] = found.map(({ code, message, pos }) => ({
    offset: pos[0],
    message: code === "MULTIPLE_DOCS" ? "the file holds a second document" : message,
  }));
  if (document.directives?.yaml.explicit === true) {
    problems.push({ offset: 0, message: "directives such as %YAML are not allowed" });
  }
  visit(document, {
    Node(_key, node) {
      const offset = node.range?.[0] ?? 0;
      if (isAlias(node)) {
        problems.push({ offset, message: `alias *${node.source} is not allowed; write it out` });
        return;
      }
      if (node.anchor !== undefined) {
        problems.push({ offset, message: `anchor &${node.anchor} is not allowed` });
      }
      if (node.tag !== undefined) {
        problems.push({ offset, message: `tag ${shortTag(node.tag)} is not allowed` });
      }
    },
  });
  return problems;
}

/** The position of a mapping's key or of a list's entry; when it is missing, of its parent. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[]): number {
  const parent: unknown = path.length === 0 ? null : nodeAt(document, path.slice(0, -1));
  const key = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === key);
    if (pair !== undefined && isNode(pair.key)) return pair.key.range?.[0] ?? 0;
  }
  const node = nodeAt(document, path);
  if (isNode(node)) return node.range?.[0] ?? 0;
  return path.length === 0 ? 0 : offsetOf(document, path.slice(0, -1));
}

function nodeAt(document: Document.Parsed, path: readonly PropertyKey[]): unknown {
  return document.getIn(path, true);
}

function shortTag(tag: string): string {
  return tag.replace("tag:yaml.org,2002:", "!!");
}

function byPosition(a: FileProblem, b: FileProblem): number {
  return a.line - b.line || a.column - b.column;
}
