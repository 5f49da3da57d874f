import { execFile } from "node:child_process";
import { access, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface CliPackage {
  readonly name: string;
  readonly version: string;
  readonly program: string;
}

const INSTALL_MS = 240_000;

/**
 * A coding CLI out of npm, in a cache outside the repository. Its package runs no script of its own. Instead of the program,
 * the reason why there is none.
 */
export async function installedCli({
  name,
  version,
  program,
}: CliPackage): Promise<{ readonly path: string } | { readonly skip: string }> {
  const cache = process.env["YARD_TEST_CLI_DIR"] ?? join(homedir(), ".cache", "switchyard-clis");
  const directory = join(cache, `${name.replaceAll(/[^a-z-]/g, "")}-${version}`);
  const path = join(directory, "node_modules", ".bin", program);
  if (await isThere(path)) return { path };
  try {
    await mkdir(directory, { recursive: true });
    const flags = [
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--no-save",
      "--prefix",
      directory,
    ];
    await promisify(execFile)("npm", ["install", ...flags, `${name}@${version}`], {
      timeout: INSTALL_MS,
      cwd: directory,
    });
  } catch (error) {
    return { skip: `${name} could not be installed: ${String(error).slice(0, 300)}` };
  }
  return { path };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
