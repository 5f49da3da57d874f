import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const SOURCE = "clients/python";
/** The exact versions of what builds it, so that the same commit gives the same files. */
const TOOLS = "scripts/release/python-tools.txt";
const LIMIT_MS = 300_000;

/** The facts that `pyproject.toml` states about the client of Python. */
export interface PythonProject {
  readonly name: string;
  readonly version: string;
  /** Names of packages, with their ranges and conditions. */
  readonly dependencies: readonly string[];
}

export async function pythonProject(root: string): Promise<PythonProject> {
  const text = await readFile(join(root, SOURCE, "pyproject.toml"), "utf8");
  const field = (name: string): string =>
    new RegExp(`^${name} = "([^"]+)"$`, "m").exec(text)?.[1] ?? missing(name);
  const list = /^dependencies = (\[.*\])$/m.exec(text)?.[1] ?? missing("dependencies");
  return {
    name: field("name"),
    version: field("version"),
    dependencies: [...list.matchAll(/"([^"]+)"/g)].map(([, each = ""]) => each),
  };
}

function missing(field: string): never {
  throw new Error(`${SOURCE}/pyproject.toml has no ${field} on a line of its own`);
}

/**
 * Writes the source distribution and the wheel of the client of Python into a folder, and returns their names. Needs Python with pip, and PyPI for
 * the tools; rejects with what these say.
 */
export async function pythonPackage(root: string, folder: string): Promise<string[]> {
  const scratch = resolve(await mkdtemp(join(folder, ".python-")));
  try {
    const quiet = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    const what = ["--target", scratch, "--requirement", join(root, TOOLS)];
    await python(["-m", "pip", "install", ...quiet, ...what], root);
    const built = join(scratch, "built");
    const build = ["-m", "hatchling", "build", "-d", built];
    await python(build, join(root, SOURCE), { PYTHONPATH: scratch });
    const files = await readdir(built);
    for (const file of files) await rename(join(built, file), join(folder, file));
    return files.toSorted();
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function python(
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...more };
  try {
    await promisify(execFile)("python3", args, { cwd, env, timeout: LIMIT_MS });
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(
      `the client of Python needs Python 3.10 with pip to be built: ${said.slice(-500) || String(error)}`,
      { cause: error },
    );
  }
}
