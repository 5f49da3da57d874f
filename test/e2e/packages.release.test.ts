import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startPackageRegistry } from "../lib/package-registry.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "yard packages "));
const packed = join(folder, "release");
const project = join(folder, "app", "my-project");
const registry = await startPackageRegistry();
after(async () => {
  registry.stop();
  await rm(folder, { recursive: true });
});

/** A person's environment: nothing of this repository is on the PATH, and their home is empty but for the servers that were brought. */
const env = {
  ...process.env,
  PATH: (process.env["PATH"] ?? "")
    .split(":")
    .filter((path) => !path.startsWith(root))
    .join(":"),
  HOME: folder,
  XDG_CACHE_HOME: process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
  XDG_STATE_HOME: join(folder, "state"),
  NODE_COMPILE_CACHE: undefined,
  npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm"),
  npm_config_userconfig: join(folder, ".npmrc"),
};

async function ran(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env });
  return stdout + stderr;
}

const yard = (...args: string[]) => ran("npx", ["--no-install", "yard", ...args], project);

before(async () => {
  await promisify(execFile)(
    process.execPath,
    [join(root, "scripts/release.ts"), "--packages", "--dir", packed],
    { cwd: folder },
  );
  const own = await promisify(execFile)("npm", ["config", "get", "registry"], { cwd: tmpdir() });
  const host = registry.url.replace("http:", "");
  await writeFile(
    join(folder, ".npmrc"),
    [
      `registry=${own.stdout.trim()}`,
      `@switchyard:registry=${registry.url}`,
      `${host}:_authToken=for-the-test`,
      "",
    ].join("\n"),
  );
});

interface Ready {
  readonly httpUrl: string;
  readonly httpTokenFile: string;
}

test("the packages have checksums, and npm publishes them as they are", async () => {
  const files = (await readdir(packed)).toSorted();
  assert.deepEqual(files, [
    "SHA256SUMS",
    "switchyard-client-0.1.0.tgz",
    "switchyard-yard-0.1.0.tgz",
  ]);
  await ran("sha256sum", ["--check", "SHA256SUMS"], packed);
  const listed = await ran("tar", ["-tzf", "switchyard-yard-0.1.0.tgz"], packed);
  const sources = listed.split("\n").filter((path) => /^package\/(?!examples).*\.tsx?$/.test(path));
  assert.deepEqual(sources, []);
  for (const file of files.slice(1))
    await ran("npm", ["publish", "--access", "public", `./${file}`], packed);
});

test("an installed yard makes a project, starts it, and answers a run whose calls a policy decides", async (t) => {
  const app = join(folder, "app");
  await promisify(execFile)("mkdir", [app]);
  const startedAt = performance.now();
  await ran("npm", ["init", "--yes"], app);
  const packages = ["@switchyard/yard", "@switchyard/client"];
  await ran("npm", ["install", "--no-audit", "--no-fund", ...packages], app);
  const installedAt = performance.now();
  const made = await ran("npx", ["--no-install", "yard", "init", "my-project"], app);
  assert.match(made, /npx @switchyard\/yard dev/, "names the command as it is called here");

  // A signal to npx does not reach what it starts.
  const dev = spawn(join(app, "node_modules/.bin/yard"), ["dev", "--json", "--exit-with-parent"], {
    cwd: project,
    // However this process ends, the instance ends with it: its standard input closes.
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(dev, "exit");
  t.after(() => dev.stdin.end());
  const log: string[] = [];
  dev.stderr.on("data", (data: Buffer) => log.push(data.toString()));
  const ready = await new Promise<Ready | null>((resolve) => {
    createInterface({ input: dev.stdout }).on("line", (line) => {
      log.push(line);
      if (line.includes('"msg":"switchyard ready"')) resolve(JSON.parse(line));
    });
    dev.on("exit", () => resolve(null));
  });
  assert.ok(ready, log.join("\n"));
  const answer = await yard("run", "helper", "What is in the notes?");
  const answeredAt = performance.now();
  assert.match(answer, /The notes have 4 lines/);
  assert.match(answer, /rule no-writes denies write_file/);
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  t.diagnostic(
    `installed in ${seconds(installedAt - startedAt)} s, answered ${seconds(answeredAt - installedAt)} s later`,
  );

  const token = (await readFile(ready.httpTokenFile, "utf8")).trim();
  const script = `
    import { createClient } from "@switchyard/client";
    const client = createClient({ baseUrl: process.argv[1], token: process.argv[2] });
    const { agents } = await client.request("GET /agents");
    console.log(agents.map(({ name }) => name).join());`;
  const args = ["--input-type=module", "--eval", script, ready.httpUrl, token];
  assert.match(await ran("node", args, app), /helper/);
  const page = await fetch(ready.httpUrl, { headers: { accept: "text/html" } });
  assert.match(await page.text(), /<title>Switchyard/, "the built console is in the package");

  dev.kill("SIGTERM");
  await ended;
  const state = await readdir(join(project, ".switchyard"));
  assert.ok(!state.includes("dev.json"), "it was stopped, not killed");
});

/** Other installers of the same registry, from npm; both are pinned. The packages of bun have its program, without an install script. */
const INSTALLERS = {
  pnpm: { package: "pnpm@12.21.0", program: "node_modules/.bin/pnpm" },
  bun: {
    package: `@oven/bun-${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}@1.4.5`,
    program: `node_modules/@oven/bun-${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}/bin/bun`,
  },
} as const;

for (const [name, installer] of Object.entries(INSTALLERS))
  test(`${name} installs both packages, and yard makes a project whose rules are tested`, async () => {
    const place = join(folder, name);
    const app = join(place, "app");
    await mkdir(app, { recursive: true });
    await ran(
      "npm",
      ["install", "--no-audit", "--no-fund", "--prefix", place, installer.package],
      place,
    );
    await writeFile(join(app, "package.json"), '{ "private": true, "type": "module" }\n');
    const packages = ["@switchyard/yard", "@switchyard/client"];
    await ran(join(place, installer.program), ["add", ...packages], app);
    await makesProject(join(app, "node_modules/.bin/yard"), app);
    const script = 'console.log(typeof (await import("@switchyard/client")).createClient)';
    assert.match(await ran("node", ["--eval", script], app), /^function$/m);
  });

test("npm installs yard for a person, and npx runs it where nothing is installed", async () => {
  const prefix = join(folder, "global");
  await ran("npm", ["install", "--global", "--prefix", prefix, "@switchyard/yard"], folder);
  await makesProject(join(prefix, "bin/yard"), prefix);
  const empty = join(folder, "empty");
  await mkdir(empty);
  const version = await ran("npx", ["--yes", "@switchyard/yard", "version"], empty);
  assert.match(version, /0\.1\.0/);
});

/** Starts nothing: checks the rules that the command has just written. */
async function makesProject(program: string, directory: string): Promise<void> {
  await ran(program, ["init", "made"], directory);
  const tested = await ran(program, ["policy", "test", "made/policies"], directory);
  assert.match(tested, /^\d passed, 0 failed$/m);
}
