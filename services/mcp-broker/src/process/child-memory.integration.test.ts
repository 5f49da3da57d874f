import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { watchChildren } from "./child-memory.ts";
import { openChildRecords } from "./child-records.ts";

const children = watchChildren(await openChildRecords(await testDirectory()));

test("the memory of a child is that of its whole process group, and gone with it", async () => {
  // Two processes of one group: the shell waits for the sleep that it started.
  const script = "sleep 600 & echo $!; wait";
  const child = spawn("sh", ["-c", script], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { pid = assert.fail("not started") } = child;
  const exited = once(child, "exit");
  after(async () => {
    process.kill(-pid, "SIGKILL");
    await exited;
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const record = children.records.expect("files", (error) => assert.fail(String(error)));
  record.onSpawning();
  record.onSpawned(pid);
  const whole = async (): Promise<number> => (await rss(pid)) + (await rss(Number(line)));
  // They may still be loading.
  const { before, measured } = await until(
    async () => ({
      before: await whole(),
      measured: (await children.measure()).get("files"),
      after: await whole(),
    }),
    (sizes) => sizes.before === sizes.after,
  );
  assert.ok(before > 0);
  assert.equal(measured, before);
  await record.onGone();
  assert.equal((await children.measure()).size, 0);
});

async function rss(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) * 1_024;
}
