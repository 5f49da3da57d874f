import { execFile } from "node:child_process";
import { readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

export interface ScenarioRun {
  /** The exit code of the suite: 0 when every check passed or is expected to fail. */
  readonly exitCode: number;
  readonly checks: readonly Check[];
  readonly output: string;
}

const CLIENT = fileURLToPath(new URL("client.ts", import.meta.url));
const EXPECTED = fileURLToPath(new URL("expected-failures.yaml", import.meta.url));
const SUITE = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const TIMEOUT_MS = 60_000;

/** Returns the command for the broker's client, by links in a directory: the suite splits it at every space, also within a path. */
export async function linkClient(directory: string): Promise<string> {
  const [node, client] = [join(directory, "node"), join(directory, "client.ts")];
  await symlink(process.execPath, node);
  await symlink(CLIENT, client);
  return `${node} ${client}`;
}

/** Runs one scenario of the official suite at a revision's wire version against the broker's client. */
export async function runScenario(
  scenario: string,
  {
    command,
    revision,
    redisUrl,
    directory,
  }: { command: string; revision: string; redisUrl: string; directory: string },
): Promise<ScenarioRun> {
  const results = join(directory, `${revision}-${scenario.replaceAll("/", "-")}`);
  const options = {
    "--scenario": scenario,
    "--spec-version": revision,
    "--command": command,
    "--expected-failures": EXPECTED,
    "--timeout": String(TIMEOUT_MS),
    "-o": results,
  };
  const args = [SUITE, "client", ...Object.entries(options).flat()];
  const { exitCode, output } = await run(args, redisUrl);
  return { exitCode, output, checks: await readChecks(results) };
}

function run(
  args: readonly string[],
  redisUrl: string,
): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    const env = {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      YARD_REDIS_URL: redisUrl,
    };
    const child = execFile(process.execPath, args, { env }, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? 1, output: `${stdout}\n${stderr}` }),
    );
  });
}

async function readChecks(directory: string): Promise<Check[]> {
  const files = await readdir(directory, { recursive: true });
  const file = files.find((name) => name.endsWith("checks.json"));
  if (file === undefined) return [];
  // The suite's own file, in the suite's own shape.
  return JSON.parse(await readFile(join(directory, file), "utf8")) as Check[];
}
