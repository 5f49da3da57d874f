import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import {
  instanceProcesses,
  survivors,
  yard,
  yardDev,
  yardEnvironment,
  yardStarted,
} from "../../test-fixtures/yard-process.ts";

test("the demo starts everything, runs on real files, has the write denied, and stops everything", async () => {
  const stateDir = join(tempDirectory(), "state");
  const { code, stdout, stderr } = await yard(["demo"], yardEnvironment(stateDir));
  assert.equal(code, 0, stderr);
  for (const file of ["README.md", "package.json", "ARCHITECTURE.md"])
    assert.match(stdout, new RegExp(`- ${file}: \\d{2,} lines`));
  assert.match(stderr, /NATS [\d.]+ at nats:/);
  assert.match(stderr, /denied the write \(rule no-writes\), as it should/);
  assert.match(stderr, /nats pub -s nats:\/\/127\.0\.0\.1:\d+ yard\.cmd\.me\.run\.start\.demo/);
  assert.match(stderr, /nats stopped/);
  assert.ok(!existsSync(join(stateDir, "dev.json")));
});

test("the demo stays open with --open, with the console, and stops at Ctrl-C", async () => {
  const stateDir = join(tempDirectory(), "state");
  const open = yardStarted(["demo", "--open", EXIT_WITH_PARENT], yardEnvironment(stateDir));
  await open.printed("It stays open");
  const [, address = ""] = /The console: (\S+)#token=yd_/.exec(open.output()) ?? [];
  const page = await fetch(address, { headers: { accept: "text/html" } });
  assert.equal(page.status, 200, await page.text());
  open.kill("SIGINT");
  assert.equal(await open.exited, 0);
  assert.match(open.output(), /nats stopped/);
  assert.ok(!existsSync(join(stateDir, "dev.json")));
});

const DENY_ALL = "version: 1\nrules:\n  - id: none\n    effect: deny\n";

test("a project whose services cannot start shows the place, and leaves nothing running", async () => {
  const root = tempDirectory();
  mkdirSync(join(root, "project"));
  writeFileSync(join(root, "project", "mcp-servers.json"), '{"mcpServers":{');
  writeFileSync(join(root, "project", "policy.yaml"), DENY_ALL);
  const stateDir = join(root, "state");
  const dev = yardDev(["--project", join(root, "project")], yardEnvironment(stateDir));
  assert.equal(await dev.exited, 1);
  assert.match(
    dev.output(),
    /switchyard did not start \(exit code 1\)[\s\S]*\n  broker: service could not start[\s\S]*mcp-servers\.json/,
  );
  assert.match(dev.output(), /nats stopped/);
  assert.ok(!existsSync(join(stateDir, "dev.json")));
});

test("a port that is taken is an error when it was requested", async () => {
  const root = tempDirectory();
  const holder = createServer();
  await new Promise<void>((done) => holder.listen(0, "127.0.0.1", done));
  const address = holder.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  try {
    const env = yardEnvironment(join(root, "state"));
    const { code, stderr } = await yard(["dev", "--demo", "--nats-port", String(port)], env);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`port ${port} for NATS is taken`));
  } finally {
    holder.close();
  }
});

test("a stop in the middle of the start stops what was started", async () => {
  const stateDir = join(tempDirectory(), "state");
  const dev = yardDev([], yardEnvironment(stateDir));
  await dev.printed("policy in force");
  const processes = instanceProcesses(stateDir);
  dev.kill("SIGTERM");
  assert.equal(await dev.exited, 0);
  assert.deepEqual(await survivors(processes), []);
  assert.match(dev.output(), /redis stopped[\s\S]*nats stopped/);
  assert.ok(!existsSync(join(stateDir, "dev.json")));
});

test("a configured bus that is down is 6, for commands and for dev: nothing is started in its place", async () => {
  const env = {
    ...yardEnvironment(join(tempDirectory(), "state")),
    YARD_NATS_URL: "nats://127.0.0.1:1",
  };
  for (const args of [
    ["runs", "list"],
    ["dev", "--demo"],
  ]) {
    const { code, stderr } = await yard(args, env);
    assert.equal(code, 6, stderr);
    assert.match(stderr, /127\.0\.0\.1:1/);
  }
});

test("keys init makes keys and the configuration once, and changes nothing the second time", async () => {
  const directory = join(tempDirectory(), "keys");
  const env = yardEnvironment(tempDirectory());
  const first = await yard(["keys", "init", "--dir", directory, "--json"], env);
  assert.equal(first.code, 0, first.stderr);
  const { created, rewritten } = JSON.parse(first.stdout).data;
  assert.ok(created.includes("broker") && created.includes("run-token") && rewritten);
  const config = readFileSync(join(directory, "auth.conf"), "utf8");
  assert.ok(!config.includes("no_auth_user"));
  const second = await yard(["keys", "init", "--dir", directory], env);
  assert.deepEqual([second.code, second.stdout], [0, ""]);
  assert.equal(readFileSync(join(directory, "auth.conf"), "utf8"), config);
});
