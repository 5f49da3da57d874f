import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * Runs a program of `scripts/check-tools/package.json`. These are needed by `npm run check` alone, so they are no packages of the project, which `npm start`
 * would install: they are fetched once, in the versions and with the digests of the lock file beside it. See decisions/108.
 *
 *   node scripts/check-tool.ts cspell lint --no-progress
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const LOCK = ["package.json", "package-lock.json"];
const LIMIT_MS = 300_000;

const [name, ...args] = process.argv.slice(2);
try {
  if (name === undefined) throw new Error("usage: node scripts/check-tool.ts PROGRAM [ARGUMENTS]");
  const program = join(await installed(), "node_modules/.bin", name);
  if (!existsSync(program)) throw new Error(`scripts/check-tools/package.json has no ${name}`);
  const child = spawn(program, args, { cwd: root, stdio: "inherit" });
  const [code]: (number | null)[] = await once(child, "exit");
  process.exitCode = code ?? 1;
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** The folder with the tools of this lock file. Installed beside it first: two checks may start together. */
async function installed(): Promise<string> {
  const source = join(root, "scripts/check-tools");
  const lock = await readFile(join(source, "package-lock.json"));
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 16);
  const folder = join(root, "node_modules/.cache/check-tools", digest);
  if (existsSync(folder)) return folder;
  console.error("fetching the tools of npm run check (cspell, jscpd), once …");
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    for (const file of LOCK) await cp(join(source, file), join(draft, file));
    await npmCi(draft);
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

async function npmCi(cwd: string): Promise<void> {
  const quiet = [
    "--prefix",
    cwd,
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  // `npm run` names the project as the place to install into, by its environment.
  const env = { ...process.env, npm_config_local_prefix: cwd };
  try {
    await promisify(execFile)("npm", ["ci", ...quiet], { cwd, env, timeout: LIMIT_MS });
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(
      `the tools of npm run check could not be fetched; npm has to reach its registry once: ${said.slice(-500) || String(error)}`,
      { cause: error },
    );
  }
}
