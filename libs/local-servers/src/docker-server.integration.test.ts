import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { findContainerEngine } from "./container-engine.ts";
import { startDockerServer } from "./docker-server.ts";
import { runCommand } from "./run-command.ts";
import { SERVER_KINDS, type ServerKindName } from "./server-kinds.ts";
import { testDirectory } from "./test-servers.ts";

/** Starts the default image, or skips where no engine can. */
async function startContainer(t: TestContext, kind: ServerKindName) {
  const found = await findContainerEngine({
    kind: SERVER_KINDS[kind],
    env: process.env,
    log: () => {},
    run: runCommand,
  });
  if ("reason" in found) {
    t.skip(found.reason);
    return null;
  }
  const dataDir = await testDirectory();
  const server = await startDockerServer({ ...found, kind, dataDir });
  t.after(() => server.stop());
  return { server, dataDir, engine: found.engine };
}

for (const kind of ["nats", "redis"] as const) {
  test(`${kind} in a container answers on loopback and is gone after stop`, async (t) => {
    const started = await startContainer(t, kind);
    if (started === null) return;
    const { server, dataDir, engine } = started;
    assert.equal(server.url, `${kind}://127.0.0.1:${server.port}`);
    await server.stop();
    const label = ["--filter", `label=switchyard.data-dir=${dataDir}`];
    const left = await runCommand(engine, ["ps", "--all", "--quiet", ...label], {
      timeoutMs: 5_000,
    });
    assert.equal(left.stdout.trim(), "");
  });
}
