import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { clientPackage } from "../../scripts/release/client-package.ts";
import { findChromium, launchChromium } from "../console/chromium.ts";
import { startYardDev } from "../lib/yard-dev.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

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
    const { stdout, stderr, exitCode } = await run(command, file, ["nobody", "go"]);
    // Over NATS it is an event of the run, and over HTTP the gateway's answer to the start.
    assert.match(`${stdout}${stderr}`, /unknown_agent/);
    assert.equal(exitCode, 1);
  });
}

test(
  "the Python client sends, follows streams over cuts and raises problems, and every example in it is a request",
  { skip: missing["Python over HTTP"] },
  async () => {
    const home = join(root, "clients/python");
    const env = {
      ...process.env,
      PYTHONPATH: [join(home, "src"), process.env["PYTHONPATH"] ?? ""].join(":"),
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const { stderr } = await promisify(execFile)(
      "python3",
      ["-m", "unittest", "discover", "-s", join(home, "tests")],
      { env },
    );
    assert.match(stderr, /^OK$/m);
  },
);

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

const curl = lacks("curl", ["--version"], "curl is not installed");

test(
  "the curl lines of docs/http.md start a run, follow it to its end and show it",
  { skip: curl },
  async () => {
    const text = await readFile(join(root, "docs/http.md"), "utf8");
    const lines = [...text.matchAll(/```sh\n([^`]*)```/g)].map(([, block = ""]) => block);
    const aboutRun = lines.filter((block) => block.includes("order-4711"));
    assert.equal(aboutRun.length, 3);
    const script = aboutRun.join("\n").replace('"agent":"demo"', '"agent":"troubled"');
    const { stdout } = await promisify(execFile)("sh", ["-ec", script], {
      env: { ...process.env, ...http },
      timeout: 60_000,
    });
    assert.match(stdout, /"sequence":\d+/);
    assert.match(stdout, /^event: finished$/m);
    assert.match(stdout, /"status":"succeeded"/);
  },
);

const PROGRAM = `import { createClient } from "@switchyard/client/client";
declare const process: { readonly env: Record<string, string> };
const { YARD_HTTP, YARD_HTTP_TOKEN } = process.env;
const client = createClient({ baseUrl: YARD_HTTP ?? "", token: YARD_HTTP_TOKEN ?? "" });
const body = { agent: "troubled", input: "go" };
const { runId } = await client.request("POST /runs", { body, idempotencyKey: "packed" });
const names: string[] = [];
for await (const { event } of client.followRun(runId)) names.push(event);
const { status } = await client.waitForRun(runId);
console.log(names.at(0), names.at(-1), status);
`;

test("the packed client is one that plain Node.js and the compiler take, without anything else of ours", async () => {
  const packed = join(directory, "packed");
  await clientPackage(root, packed);
  const execute = promisify(execFile);
  const { stdout: report } = await execute("npm", ["pack", "--json"], { cwd: packed });
  const [{ filename, size } = { filename: "", size: 0 }] = JSON.parse(report) as {
    filename: string;
    size: number;
  }[];
  assert.ok(size < 60_000, `${filename} has ${size} bytes`);
  const project = join(directory, "user");
  const home = join(project, "node_modules/@switchyard/client");
  await mkdir(home, { recursive: true });
  await execute("tar", ["-xzf", join(packed, filename), "-C", home, "--strip-components=1"]);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  await writeFile(join(project, "use.ts"), PROGRAM);
  const checks = "--ignoreConfig --strict --noEmit --module nodenext --target es2022".split(" ");
  const types = ["--lib", "es2024,dom,dom.asynciterable", "--types", ""];
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await execute(process.execPath, [tsc, ...checks, ...types, "use.ts"], { cwd: project });
  const env = { ...process.env, ...http };
  const { stdout } = await execute(process.execPath, ["use.ts"], { cwd: project, env });
  assert.equal(stdout, "started finished succeeded\n");
});

const chromium = findChromium();
const noBrowser = chromium === null && "Chromium is not installed: name one in YARD_CHROMIUM";

test("the packed client works in a browser", { skip: noBrowser }, async () => {
  const packed = join(directory, "for-browser");
  await clientPackage(root, packed);
  const browser = await launchChromium(chromium ?? "");
  after(() => browser.close());
  const page = await browser.newPage();
  // Files of the package under the gateway's own origin, as a page of the gateway's would load them.
  await page.route("**/packed/*", async (route) => {
    const name = basename(new URL(route.request().url()).pathname);
    await (name === "index.html"
      ? route.fulfill({ contentType: "text/html", body: "<!doctype html><title>packed</title>" })
      : route.fulfill({
          contentType: "text/javascript",
          body: await readFile(join(packed, name), "utf8"),
        }));
  });
  await page.goto(`${dev.httpUrl}/packed/index.html`);
  const options = JSON.stringify({ baseUrl: "", token: http.YARD_HTTP_TOKEN });
  const reported = await page.evaluate<string[]>(`(async () => {
    const { createClient } = await import("/packed/client.js");
    const client = createClient(${options});
    const body = { agent: "troubled", input: "go" };
    const { runId } = await client.request("POST /runs", { body, idempotencyKey: "browser" });
    const names = [];
    for await (const { event } of client.followRun(runId)) names.push(event);
    return [names.at(0), names.at(-1), (await client.waitForRun(runId)).status];
  })()`);
  assert.deepEqual(reported, ["started", "finished", "succeeded"]);
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
  return lacks("python3", ["-c", `import ${module}`], `python3 with ${name} is not installed`);
}

function lacks(command: string, args: readonly string[], why: string): string | false {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return false;
  } catch {
    return why;
  }
}
