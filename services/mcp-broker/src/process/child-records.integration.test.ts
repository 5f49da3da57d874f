import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { openChildRecords } from "./child-records.ts";
import { processIdentity } from "./process-identity.ts";

async function startSleeper(): Promise<ChildProcess & { pid: number }> {
  const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
  await once(child, "spawn");
  after(() => child.kill("SIGKILL"));
  assert.ok(child.pid !== undefined);
  return Object.assign(child, { pid: child.pid });
}

/** Makes a record look as if a broker that is dead by now had written it. */
async function orphan(directory: string, pid: number, change: object = {}): Promise<void> {
  const file = join(directory, "mcp-children", `${pid}.json`);
  const record: object = JSON.parse(await readFile(file, "utf8"));
  const broker = { pid: process.pid, startedAt: "earlier" };
  await writeFile(file, JSON.stringify({ ...record, broker, ...change }));
}

test("ends the child that a dead broker left behind, and forgets it [A23]", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const exited = once(child, "exit");
  await (await openChildRecords(directory)).add({ pid: child.pid, server: "files" });
  await orphan(directory, child.pid);
  const records = await openChildRecords(directory);
  assert.deepEqual(await records.reap(), [{ pid: child.pid, server: "files" }]);
  await exited;
  assert.deepEqual(await readdir(join(directory, "mcp-children")), []);
});

test("leaves the children of a living broker alone", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const records = await openChildRecords(directory);
  await records.add({ pid: child.pid, server: "files" });
  assert.deepEqual(await records.reap(), []);
  assert.equal(child.exitCode, null);
  assert.deepEqual(await readdir(join(directory, "mcp-children")), [`${child.pid}.json`]);
});

test("never ends another process that got the number of a dead child", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const records = await openChildRecords(directory);
  await records.add({ pid: child.pid, server: "files" });
  await orphan(directory, child.pid, { child: { pid: child.pid, startedAt: "earlier" } });
  assert.deepEqual(await records.reap(), []);
  assert.notEqual(await processIdentity(child.pid), null);
  assert.deepEqual(await readdir(join(directory, "mcp-children")), []);
});

test(
  "ends what a dead child of a dead broker started",
  { skip: process.platform !== "linux" && "needs /proc" },
  async () => {
    const directory = await testDirectory();
    const child = spawn("sh", ["-c", "sleep 600 & echo $!; read line"], {
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const [grandchild] = (await once(child.stdout, "data")).map(Number);
    assert.ok(child.pid !== undefined && grandchild !== undefined);
    const records = await openChildRecords(directory);
    await records.add({ pid: child.pid, server: "files" });
    await orphan(directory, child.pid);
    const exited = once(child, "exit");
    child.stdin.end();
    await exited;
    assert.notEqual(await processIdentity(grandchild), null);
    assert.deepEqual(await records.reap(), [{ pid: child.pid, server: "files" }]);
    assert.equal(await processIdentity(grandchild), null);
  },
);

test("forgets a record of another boot or container without ending anything", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const records = await openChildRecords(directory);
  await records.add({ pid: child.pid, server: "files" });
  await orphan(directory, child.pid, { scope: "another boot" });
  assert.deepEqual(await records.reap(), []);
  assert.notEqual(await processIdentity(child.pid), null);
});

test("clears a record that a crash cut short", async () => {
  const directory = await testDirectory();
  const records = await openChildRecords(directory);
  await writeFile(join(directory, "mcp-children", "1.json"), '{"pid":');
  assert.deepEqual(await records.reap(), []);
  assert.deepEqual(await readdir(join(directory, "mcp-children")), []);
});

test("refuses a directory in which others can plant records", async () => {
  const directory = await testDirectory();
  await mkdir(join(directory, "mcp-children"));
  await chmod(join(directory, "mcp-children"), 0o777);
  await assert.rejects(openChildRecords(directory), /must belong to the broker's user/);
});
