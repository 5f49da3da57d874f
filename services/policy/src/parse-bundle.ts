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
import { Bundle } from "./bundle.ts";
import { explainIssue, repeatedIds } from "./explain-issue.ts";

/** One thing that is wrong with a policy file, and where. Lines and columns count from 1. */
export interface BundleProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** A policy file that is refused as a whole. The message lists every problem as `file:line:column: what`. */
export class BundleError extends Error {
  override readonly name = "BundleError";
  readonly file: string;
  readonly problems: readonly BundleProblem[];

  constructor(file: string, problems: readonly BundleProblem[]) {
    super(`policy refused\n${problemLines(file, problems).join("\n")}`);
    this.file = file;
    this.problems = problems;
  }

  /** The problems as lines for people. */
  get lines(): string[] {
    return problemLines(this.file, this.problems);
  }
}

export const MAX_BUNDLE_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 50;

/** Reads a policy file's text. Throws a {@link BundleError} that names every problem with its place. */
export function parseBundle(source: { readonly file: string; readonly text: string }): Bundle {
  try {
    const { bundle, problems } = readBundle(source.text);
    if (bundle !== null) return bundle;
    throw new BundleError(source.file, problems.toSorted(byPlace).slice(0, MAX_PROBLEMS));
  } catch (error) {
    // The YAML parser is recursive; a file of brackets runs it out of stack.
    if (!(error instanceof RangeError)) throw error;
    const problem = { line: 1, column: 1, message: "the file is nested too deeply" };
    throw new BundleError(source.file, [problem]);
  }
}

type Reading =
  | { readonly bundle: Bundle; readonly problems?: never }
  | { readonly bundle: null; readonly problems: readonly BundleProblem[] };

function readBundle(text: string): Reading {
  if (Buffer.byteLength(text) > MAX_BUNDLE_BYTES) {
    const message = `the file is larger than ${MAX_BUNDLE_BYTES} bytes`;
    return { bundle: null, problems: [{ line: 1, column: 1, message }] };
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
  const at = (offset: number, message: string): BundleProblem => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), message };
  };
  const syntax = syntaxProblems(document);
  if (syntax.length > 0) {
    return { bundle: null, problems: syntax.map(({ offset, message }) => at(offset, message)) };
  }
  const parsed = Bundle.safeParse(document.toJS(), { reportInput: true });
  const problems = parsed.success
    ? repeatedIds(parsed.data)
    : parsed.error.issues.flatMap(explainIssue);
  if (parsed.success && problems.length === 0) return { bundle: parsed.data };
  return {
    bundle: null,
    problems: problems.map(({ path, message }) => at(offsetOf(document, path), message)),
  };
}

interface SyntaxProblem {
  readonly offset: number;
  readonly message: string;
}

/** What YAML itself finds, and what it allows but a policy must not have: a reader has to see what a rule says where it stands. */
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

/** The place of a mapping's key or of a list's entry; when it is missing, of what should hold it. */
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

function byPlace(a: BundleProblem, b: BundleProblem): number {
  return a.line - b.line || a.column - b.column;
}

function problemLines(file: string, problems: readonly BundleProblem[]): string[] {
  return problems.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
}
