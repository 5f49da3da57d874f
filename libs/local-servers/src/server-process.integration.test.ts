import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { processIdentity } from "./process-identity.ts";
import { ServerStartError, startServerProcess, type ServerAddress } from "./server-process.ts";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "./until.ts";

/** Never ready: resolves nothing until its signal aborts. */
async function neverReady(_pid: number, signal: AbortSignal): Promise<ServerAddress> {
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

test("a program that cannot be run is named with the reason", async () => {
  const dataDir = await testDirectory();
  await assert.rejects(
    startServerProcess({
      name: "x",
      binary: join(dataDir, "missing"),
      args: [],
      dataDir,
      ready: neverReady,
    }),
    /^ServerStartError: x \(.*missing\) cannot be run: .*ENOENT/,
  );
});

test("a program that ends early is an error with the end of its output", async () => {
  const dataDir = await testDirectory();
  const script =
    "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; done; echo no disk >&2; exit 7";
  await assert.rejects(
    startServerProcess({
      name: "x",
      binary: "/bin/sh",
      args: ["-c", script],
      dataDir,
      ready: neverReady,
    }),
    (error: unknown) => {
      assert.ok(error instanceof ServerStartError);
      assert.match(error.message, /ended with code 7 before it was ready; its last lines:\n/);
      assert.match(error.output, /line 100\nno disk$/);
      assert.doesNotMatch(error.output, /line 1\n/);
      return true;
    },
  );
});

test("a program that does not get ready in time is killed", async () => {
  const dataDir = await testDirectory();
  let started = 0;
  const start = startServerProcess({
    name: "x",
    binary: "/bin/sleep",
    args: ["600"],
    dataDir,
    startTimeoutMs: 200,
    ready: (pid, signal) => {
      started = pid;
      return neverReady(pid, signal);
    },
  });
  await assert.rejects(start, /x \(\/bin\/sleep\) was not ready after 200 ms/);
  assert.equal(await processIdentity(started), null);
});

test("the output of an earlier start is not shown as that of this one", async () => {
  const dataDir = await testDirectory();
  const say = (text: string) =>
    startServerProcess({
      name: "x",
      binary: "/bin/echo",
      args: [text],
      dataDir,
      ready: neverReady,
    });
  await assert.rejects(say("first"), { output: "first" });
  await assert.rejects(say("second"), { output: "second" });
  assert.equal(await readFile(join(dataDir, "x.log"), "utf8"), "first\nsecond\n");
});

test("servers do not get the secrets of this process's environment", async () => {
  const dataDir = await testDirectory();
  testEnvironment({ EXAMPLE_API_KEY: "do-not-pass-on" });
  const start = startServerProcess({
    name: "x",
    binary: "/usr/bin/env",
    args: [],
    dataDir,
    ready: neverReady,
  });
  await assert.rejects(start, (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(error.output, /^PATH=/m);
    assert.doesNotMatch(error.output, /do-not-pass-on/);
    return true;
  });
});

test("a server dies with the process that started it, however that one dies", async () => {
  const dataDir = await testDirectory();
  const program = `
    import { startServerProcess } from ${JSON.stringify(import.meta.resolve("./server-process.ts"))};
    const server = await startServerProcess({
      name: "x", binary: "/bin/sleep", args: ["600"], dataDir: ${JSON.stringify(dataDir)},
      ready: async () => ({ url: "", host: "", port: 0, version: "" }),
    });
    console.log(server.pid);
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(parent.stdout), "line");
  const serverPid = Number(line);
  assert.notEqual(await processIdentity(serverPid), null);
  parent.kill("SIGKILL");
  await until(
    () => processIdentity(serverPid),
    (identity) => identity === null,
  );
});
