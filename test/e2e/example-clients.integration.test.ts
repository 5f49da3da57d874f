import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { startYardDev } from "../lib/yard-dev.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const keys = join(directory, "state", "keys");
await ensureKeys(keys, { clients: ["team-a"] });
const dev = await startYardDev({
  project: "test/e2e/project",
  stateDir: join(directory, "state"),
  env: { CALLS_FILE: join(directory, "calls") },
});
after(async () => {
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

const programs = [
  { language: "TypeScript", command: process.execPath, file: "typescript/start-run.ts" },
  { language: "Python", command: "python3", file: "python/start_run.py" },
  { language: "Python over HTTP", command: "python3", file: "python/start_run_http.py" },
];
const missing: Record<string, string | false> = {
  Python: pythonLacks("nats", "nats-py"),
  "Python over HTTP": pythonLacks("httpx", "httpx"),
};
const http = {
  YARD_HTTP: dev.httpUrl,
  YARD_HTTP_TOKEN: (await readFile(dev.httpTokenFile, "utf8")).trim(),
};

for (const { language, command, file } of programs) {
  const skip = missing[language] ?? false;

  test(`the ${language} example starts a run and prints its answer`, { skip }, async () => {
    const { stdout, stderr, exitCode } = await run(command, file, ["troubled", "go"]);
    assert.match(stdout, /^denied: .*no-secrets/m);
    assert.deepEqual(stderr.trim().split("\n").slice(-1), ["finished"]);
    assert.equal(exitCode, 0);
  });

  test(`the ${language} example prints why a run was rejected`, { skip }, async () => {
    const { stdout, exitCode } = await run(command, file, ["nobody", "go"]);
    assert.match(stdout, /unknown_agent/);
    assert.equal(exitCode, 1);
  });
}

test("a team with a key of its own starts runs under its own name, and under no other", async () => {
  const key = { YARD_NATS_NKEY_FILE: seedFile(keys, "team-a") };
  const own = await run(process.execPath, "typescript/start-run.ts", ["troubled", "go"], {
    ...key,
    YARD_USER: "team-a",
  });
  assert.match(own.stdout, /^denied: .*no-secrets/m);
  assert.equal(own.exitCode, 0);

  const posing = await run(process.execPath, "typescript/start-run.ts", ["troubled", "go"], {
    ...key,
    YARD_USER: "cli",
  });
  assert.match(posing.stderr, /permission/i);
  assert.equal(posing.exitCode, 1);
});

function run(
  command: string,
  file: string,
  args: string[],
  identity: Readonly<Record<string, string>> = {},
) {
  const path = join("examples/clients", file);
  const env = { ...process.env, NATS_URL: dev.natsUrl, ...http, ...identity };
  return new Promise<{ stdout: string; stderr: string; exitCode: number | null }>((resolve) => {
    const child = execFile(command, [path, ...args], { env }, (_error, stdout, stderr) =>
      resolve({ stdout, stderr, exitCode: child.exitCode }),
    );
  });
}

function pythonLacks(module: string, name: string): string | false {
  try {
    execFileSync("python3", ["-c", `import ${module}`], { stdio: "ignore" });
    return false;
  } catch {
    return `python3 with ${name} is not installed`;
  }
}
