import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  isPolicyTests,
  MAX_POLICY_FILES,
  policyTestsPath,
} from "@switchyard/contracts/policy/policy-texts";
import { isSameFile, readTextFile, type TextFile } from "./text-file.ts";
import type { PolicyTexts } from "@switchyard/rules/engine/validate";
import { listNamesIn } from "@switchyard/rules/schema/list-file";

/**
 * The policy on disk: one policy file with its tests beside it, or a directory of files whose order has no effect, with test
 * files recognised by their names.
 */
export interface PolicyState {
  readonly files: readonly NamedFile[];
  readonly tests: readonly NamedFile[];
  /** A problem that prevents a policy whatever the files contain; null when there is none. */
  readonly problem: string | null;
}

export interface NamedFile {
  readonly name: string;
  readonly path: string;
  readonly file: TextFile;
}

export async function readPolicyState(path: string): Promise<PolicyState> {
  return (await isDirectory(path)) ? readDirectory(path) : readSingle(path);
}

export async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

export function isSameState(a: PolicyState, b: PolicyState): boolean {
  return (
    a.problem === b.problem && areSameFiles(a.files, b.files) && areSameFiles(a.tests, b.tests)
  );
}

/** The texts, or why there are none, as lines for people. */
export function textsOf(
  state: PolicyState,
): { readonly texts: PolicyTexts } | { readonly texts: null; readonly lines: readonly string[] } {
  const unread = [...state.files, ...state.tests].flatMap(({ path, file }) =>
    file.kind === "text" ? [] : [`${path}: ${file.why}`],
  );
  const lines = state.problem === null ? unread : [state.problem, ...unread];
  if (lines.length > 0) return { texts: null, lines };
  return { texts: { files: texts(state.files), tests: texts(state.tests) } };
}

async function readSingle(path: string): Promise<PolicyState> {
  const testsPath = policyTestsPath(path);
  const [policy, tests] = await Promise.all([readTextFile(path), readTextFile(testsPath)]);
  return {
    files: await withLists(dirname(path), [{ name: basename(path), path, file: policy }]),
    tests:
      tests.kind === "missing" ? [] : [{ name: basename(testsPath), path: testsPath, file: tests }],
    problem: null,
  };
}

async function readDirectory(directory: string): Promise<PolicyState> {
  let names: string[];
  try {
    names = (await readdir(directory)).filter((name) => /^[^.].*\.ya?ml$/.test(name)).toSorted();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return { files: [], tests: [], problem: `${directory}: cannot be read (${code})` };
  }
  if (names.length > MAX_POLICY_FILES) {
    const problem = `${directory}: has more than ${MAX_POLICY_FILES} .yaml files`;
    return { files: [], tests: [], problem };
  }
  const read = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      return { name, path, file: await readTextFile(path) };
    }),
  );
  const files = await withLists(
    directory,
    read.filter(({ name }) => !isPolicyTests(name)),
  );
  const problem = files.length === 0 ? `${directory}: has no .yaml file with rules` : null;
  return { files, tests: read.filter(({ name }) => isPolicyTests(name)), problem };
}

/** Adds the lists beside the rules. A list that is missing is left to the check of the rules, which names the rule that needs it. */
async function withLists(directory: string, files: readonly NamedFile[]): Promise<NamedFile[]> {
  const named = files.flatMap(({ file }) => (file.kind === "text" ? listNamesIn(file.text) : []));
  const names = [...new Set(named)];
  const lists = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      return { name, path, file: await readTextFile(path) };
    }),
  );
  return [...files, ...lists.filter(({ file }) => file.kind !== "missing")];
}

function areSameFiles(a: readonly NamedFile[], b: readonly NamedFile[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, file }, index) => {
      const other = b[index];
      return other !== undefined && other.name === name && isSameFile(file, other.file);
    })
  );
}

function texts(files: readonly NamedFile[]) {
  return files.flatMap(({ name, file }) =>
    file.kind === "text" ? [{ name, text: file.text }] : [],
  );
}
