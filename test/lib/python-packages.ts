import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { until } from "@switchyard/local-servers/until";

/** A Python with packages of PyPI. */
export interface PythonPackages {
  /** The directory that `PYTHONPATH` names. */
  readonly directory: string;
  /** Runs a script with them; rejects with what it printed when it fails. */
  run(
    script: string,
    env: Readonly<Record<string, string>>,
    args?: readonly string[],
  ): Promise<string>;
}

const run = promisify(execFile);
const INSTALL_MS = 400_000;
const SCRIPT_MS = 240_000;
const CACHE = join(homedir(), ".cache", "switchyard-python");
const SKIP = "Python's packages could not be installed";

/**
 * The packages of a requirements file, installed into a cache outside the repository, or from `YARD_TEST_PYTHON_DIR`, which has a folder for each
 * such file. Instead of them, the reason why they cannot be had.
 */
export async function pythonPackages(
  requirements: string,
): Promise<PythonPackages | { readonly skip: string }> {
  try {
    const { stdout: version } = await run("python3", ["-c", "import sys; print(sys.version)"]);
    const { YARD_TEST_PYTHON_DIR: place } = process.env;
    const directory =
      place === undefined
        ? await installed(requirements, version)
        : await brought(place, requirements);
    return {
      directory,
      async run(script, env, args = []) {
        const { PATH } = process.env;
        const options = {
          env: { PATH, HOME: homedir(), ...env, PYTHONPATH: directory },
          timeout: SCRIPT_MS,
        };
        return (await run("python3", [script, ...args], options)).stdout;
      },
    };
  } catch (error) {
    return { skip: `${SKIP}: ${String(error).slice(0, 300)}` };
  }
}

/** Waits until the installation by `.ci/run` is there. Rejects when it has ended without. */
async function brought(place: string, requirements: string): Promise<string> {
  const directory = join(place, basename(requirements, ".txt"));
  const isOver = async () => (await isThere(directory)) || (await isThere(join(place, "done")));
  await until(isOver, Boolean, { timeoutMs: INSTALL_MS });
  if (await isThere(directory)) return directory;
  throw new Error(`${basename(requirements)} was not brought in`);
}

/** Installed beside its final path first: another process may install the same. */
async function installed(requirements: string, version: string): Promise<string> {
  const digest = createHash("sha256")
    .update(version)
    .update(await readFile(requirements));
  const directory = join(CACHE, digest.digest("hex").slice(0, 16));
  if (await isThere(directory)) return directory;
  await mkdir(CACHE, { recursive: true });
  const making = await mkdtemp(join(CACHE, "making-"));
  try {
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"];
    const what = ["--only-binary", ":all:", "--target", making, "-r", requirements];
    await run("python3", ["-m", "pip", "install", ...quiet, ...what], { timeout: INSTALL_MS });
    await rename(making, directory);
    return directory;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
