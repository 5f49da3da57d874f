import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { findContainerEngine } from "@switchyard/local-servers/container-engine";
import { runCommand } from "@switchyard/local-servers/run-command";
import { SERVER_KINDS } from "@switchyard/local-servers/server-kinds";
import { ServerStartError } from "@switchyard/local-servers/server-process";
import { testEnvironment } from "./test-environment.ts";
import { testDirectory, testNats, testRedis } from "./test-servers.ts";
import { until } from "@switchyard/local-servers/until";

// This file tests containers, also where other tests use programs.
testEnvironment({ YARD_TEST_CONTAINERS: "1" });
const OWNED = "label=switchyard.test-process";

/** The engine's command line; `null`, and skipped, where no engine has or can pull the images. */
async function engine(t: TestContext) {
  const search = { env: process.env, log: () => {}, run: runCommand };
  for (const kind of ["nats", "redis"] as const) {
    const found = await findContainerEngine({ ...search, kind: SERVER_KINDS[kind] });
    if ("engine" in found && found.engine === "docker") continue;
    t.skip("reason" in found ? found.reason : "docker does not answer; tests use no other engine");
    return null;
  }
  return async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand("docker", args, { timeoutMs: 15_000 });
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
}

for (const [kind, start] of [
  ["nats", testNats],
  ["redis", testRedis],
] as const) {
  test(`${kind} of a test is a container of testcontainers on loopback, and continues with its data and port after a kill`, async (t) => {
    const docker = await engine(t);
    if (docker === null) return;
    const dataDir = await testDirectory();
    const first = await start({ dataDir });
    const id = await docker("ps", "--quiet", "--filter", `publish=${first.port}`);
    const facts = await docker("inspect", "--format", "{{json .}}", id);
    const { Config, HostConfig } = JSON.parse(facts) as {
      Config: { Labels: Record<string, string> };
      HostConfig: { PortBindings: Record<string, { HostIp: string }[]> };
    };
    assert.equal(Config.Labels["org.testcontainers.lang"], "node");
    const addresses = Object.values(HostConfig.PortBindings).flat();
    assert.ok(addresses.length > 0 && addresses.every(({ HostIp }) => HostIp === "127.0.0.1"));
    first.kill("SIGKILL");
    await first.exited;
    assert.equal(await docker("ps", "--all", "--quiet", "--filter", `id=${id}`), "");
    const second = await start({ dataDir, port: first.port });
    assert.equal(second.port, first.port);
    await Promise.all([second.stop(), second.stop()]);
  });
}

test("a configuration that the server refuses is an error with the server's own words, and leaves no container", async (t) => {
  const docker = await engine(t);
  if (docker === null) return;
  const count = async () => (await docker("ps", "--all", "--quiet", "--filter", OWNED)).length;
  const before = await count();
  await assert.rejects(testNats({ authorization: "no_such_setting: 1" }), (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(error.message, /^nats-server \(.*\) could not be started: /);
    assert.match(error.output, /no_such_setting/);
    return true;
  });
  const other = await testRedis();
  await assert.rejects(testRedis({ port: other.port }), /already in use|already allocated/);
  await other.stop();
  await until(count, (left) => left <= before);
});

test("the container that a killed test process left is removed by the next test process", async (t) => {
  const docker = await engine(t);
  if (docker === null) return;
  const servers = fileURLToPath(import.meta.resolve("./test-servers.ts"));
  const child = spawn(
    process.execPath,
    [
      "--eval",
      `const { testRedis } = await import(${JSON.stringify(servers)}); console.log((await testRedis()).port); setInterval(() => {}, 1_000);`,
    ],
    {
      // Ryuk would remove it, too.
      env: { ...process.env, TESTCONTAINERS_RYUK_DISABLED: "true" },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  t.after(() => child.kill("SIGKILL"));
  const signal = AbortSignal.timeout(60_000);
  const [port] = (await once(createInterface(child.stdout), "line", { signal })) as [string];
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  const id = await docker("ps", "--quiet", "--filter", `publish=${port}`);
  assert.notEqual(id, "");
  const { containerImage } = await import("./test-containers.ts");
  await containerImage("redis");
  assert.equal(await docker("ps", "--all", "--quiet", "--filter", `id=${id}`), "");
});
