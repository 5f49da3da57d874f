import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  isPolicyTests,
  MAX_POLICY_TEXT,
  policyTestsPath,
  type PolicyTextFile,
} from "@switchyard/contracts/policy/policy-texts";
import { listNamesIn } from "@switchyard/rules/schema/list-file";
import { CliError } from "../cli-error.ts";

/** A policy file with the tests beside it, or all files of a directory. */
export async function readPolicyFiles(path: string): Promise<PolicyTextFile[]> {
  const found = await statOf(path);
  if (found === null) throw new CliError("directory_missing", `there is no policy file ${path}`);
  if (!found.isDirectory()) {
    if (isPolicyTests(path)) {
      const policy = path.replace(/\.test(?=\.ya?ml$)/, "");
      throw new CliError("usage", `${path} has the tests of a policy`, {
        hint: `name the policy, or its folder: ${policy}`,
      });
    }
    const testsPath = policyTestsPath(path);
    const tests = (await statOf(testsPath)) === null ? [] : [await readPolicyFile(testsPath)];
    return withLists(dirname(path), [await readPolicyFile(path), ...tests]);
  }
  const names = (await readdir(path)).filter((name) => /^[^.].*\.ya?ml$/.test(name)).toSorted();
  if (names.length === 0) throw new CliError("usage", `${path} has no .yaml file`);
  return withLists(path, await Promise.all(names.map((name) => readPolicyFile(join(path, name)))));
}

/** Adds the lists beside the rules that are there. */
async function withLists(directory: string, files: PolicyTextFile[]): Promise<PolicyTextFile[]> {
  const names = [...new Set(files.flatMap(({ text }) => listNamesIn(text)))];
  const lists = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      return (await statOf(path)) === null ? [] : [await readPolicyFile(path)];
    }),
  );
  return [...files, ...lists.flat()];
}

/** Reads one file of at most the size of a policy, as strictly as the policy service. */
export async function readPolicyFile(path: string): Promise<PolicyTextFile> {
  const found = await statOf(path);
  if (found === null || !found.isFile() || found.size > MAX_POLICY_TEXT) {
    throw new CliError("usage", `${path} is not a file of at most ${MAX_POLICY_TEXT} bytes`);
  }
  return { name: basename(path), text: textOf(await readFile(path), path) };
}

/** Decodes as strictly as the policy service: with invalid UTF-8 a rule would silently match nothing. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliError("usage", `${path} is not valid UTF-8`);
  }
}

async function statOf(path: string) {
  return stat(path).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
}
