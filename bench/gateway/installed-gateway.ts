import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A published package, in exactly one version. None is a dependency of Switchyard. */
export interface GatewayPackage {
  readonly name: string;
  readonly version: string;
  /** Its program, below its own directory. */
  readonly program: string;
  /** Its peer dependencies, each with its version, such as `ai@7.0.173`. */
  readonly beside?: readonly string[];
}

const INSTALL_MS = 180_000;

/**
 * The path of a gateway's program. Missing packages are installed into the user's cache directory, without running any script of a
 * package.
 */
export async function installedGateway(gateway: GatewayPackage): Promise<string> {
  const { name, version, program, beside = [] } = gateway;
  const prefix = join(cacheDirectory(), "switchyard/bench", `${name}-${version}`);
  const directory = join(prefix, "node_modules", name);
  if ((await installedVersion(directory)) !== version) {
    console.error(`installing ${name}@${version} into ${prefix}`);
    await mkdir(prefix, { recursive: true });
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"];
    if (beside.length > 0) options.push("--legacy-peer-deps");
    const packages = [...beside, `${name}@${version}`];
    await promisify(execFile)("npm", ["install", "--prefix", prefix, ...options, ...packages], {
      timeout: INSTALL_MS,
    });
  }
  const installed = await installedVersion(directory);
  if (installed !== version)
    throw new Error(`${name}@${version} was not installed into ${prefix}, found ${installed}`);
  return join(directory, program);
}

async function installedVersion(directory: string): Promise<string | null> {
  const text = await readFile(join(directory, "package.json"), "utf8").catch(() => null);
  if (text === null) return null;
  return (JSON.parse(text) as { version: string }).version; // a package.json always has one
}

function cacheDirectory(): string {
  return process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
}
