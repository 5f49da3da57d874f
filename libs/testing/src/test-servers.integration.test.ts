import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { processIdentity } from "@switchyard/local-servers/process-identity";
import { testDirectory, testNats, testRedis } from "./test-servers.ts";

test("when a test ends, its servers are stopped and its directories removed", async (t) => {
  const left = { directory: "", pids: [] as number[] };
  await t.test("a test with servers", async () => {
    left.directory = await testDirectory();
    const servers = await Promise.all([
      testNats({ dataDir: join(left.directory, "nats"), asProgram: true }),
      testRedis({ dataDir: join(left.directory, "redis"), asProgram: true }),
    ]);
    left.pids = servers.map(({ pid }) => pid);
    assert.ok(
      (await Promise.all(left.pids.map(processIdentity))).every((identity) => identity !== null),
    );
  });
  assert.deepEqual(await Promise.all(left.pids.map(processIdentity)), [null, null]);
  await assert.rejects(access(left.directory), { code: "ENOENT" });
});
