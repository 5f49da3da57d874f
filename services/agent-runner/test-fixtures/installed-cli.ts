import { execFile } from "node:child_process";
import { access, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface CliPackage {
  readonly name: string;
  readonly version: string;
  /** The program, below `node_modules`. */
  readonly file: string;
}

export type FoundCli = { readonly path: string } | { readonly skip: string };

export const INSPECTOR: CliPackage = {
  name: "@modelcontextprotocol/inspector",
  version: "2.12.0",
  file: "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
};

const INSTALL_MS = 240_000;

/**
 * Installs a coding CLI from npm in a cache outside the repository. Its package runs no script of its own. Returns the reason when
 * there is no program.
 */
export async function installedCli({ name, version, file }: CliPackage): Promise<FoundCli> {
  const cache = process.env["YARD_TEST_CLI_DIR"] ?? join(homedir(), ".cache", "switchyard-clis");
  const directory = join(cache, `${name.replaceAll(/[^a-z-]/g, "")}-${version}`);
  const path = join(directory, "node_modules", file);
  if (await isThere(path)) return { path };
  try {
    await mkdir(directory, { recursive: true });
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
    const args = ["install", ...quiet, "--prefix", directory, `${name}@${version}`];
    await promisify(execFile)("npm", args, { timeout: INSTALL_MS, cwd: directory });
  } catch (error) {
    return { skip: `${name} could not be installed: ${String(error).slice(0, 300)}` };
  }
  return (await isThere(path))
    ? { path }
    : { skip: `${name} could not be installed: it has no ${file} for this machine` };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
