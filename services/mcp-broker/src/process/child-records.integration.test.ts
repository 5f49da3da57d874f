import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "@switchyard/testing/test-servers";
import { StdioTransport } from "../connection/stdio-transport.ts";
import { SpawnError } from "./child-program.ts";
import { openChildRecords } from "./child-records.ts";
import { processIdentity } from "./process-identity.ts";

const unexpected = (error: unknown): never => assert.fail(String(error));

type Sleeper = ChildProcess & { pid: number };

async function startSleeper(env: NodeJS.ProcessEnv = {}): Promise<Sleeper> {
  const child = spawn("/bin/sleep", ["600"], { detached: true, stdio: "ignore", env });
  await once(child, "spawn");
  after(() => child.kill("SIGKILL"));
  assert.ok(child.pid !== undefined);
  return Object.assign(child, { pid: child.pid });
}

/** The only record of a directory, as soon as its child is in it. */
async function recordIn(directory: string, pid: number | null): Promise<string> {
  const [name = assert.fail("no record")] = await readdir(join(directory, "mcp-children"));
  const file = join(directory, "mcp-children", name);
  if (pid !== null)
    await until(
      () => readFile(file, "utf8"),
      (text) => text.includes(`\n{"pid":${pid},`) && text.endsWith("\n"),
    );
  return file;
}

/** A record of a child that was started some other way. */
async function recorded(directory: string, { pid }: { pid: number }): Promise<string> {
  const record = (await openChildRecords(directory)).expect("files", unexpected);
  record.onSpawning();
  record.onSpawned(pid);
  return recordIn(directory, pid);
}

/** Makes a record look as if a broker that has died since had written it. */
async function orphan(
  file: string,
  change: { scope?: string; child?: object } = {},
): Promise<void> {
  const [first = "", second = ""] = (await readFile(file, "utf8")).split("\n");
  const { child = second === "" ? null : JSON.parse(second), ...more } = change;
  const broker = { pid: process.pid, startedAt: "earlier" };
  const announced = { ...JSON.parse(first), broker, ...more };
  const lines = [announced, ...(child === null ? [] : [child])].map((line) => JSON.stringify(line));
  await writeFile(file, `${lines.join("\n")}\n`);
}

const filesIn = (directory: string) => readdir(join(directory, "mcp-children"));

test("ends the child that a dead broker left behind, and forgets it [A23] [complaint-6]", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const exited = once(child, "exit");
  await orphan(await recorded(directory, child));
  const records = await openChildRecords(directory);
  assert.deepEqual(await records.reap(), [{ pid: child.pid, server: "files" }]);
  await exited;
  assert.deepEqual(await filesIn(directory), []);
});

test(
  "ends a child whose broker was killed before it could write which process it is [A23]",
  { skip: process.platform !== "linux" && "needs /proc" },
  async () => {
    const directory = await testDirectory();
    const record = (await openChildRecords(directory)).expect("files", unexpected);
    record.onSpawning();
    const [child, other] = await Promise.all([startSleeper(record.mark), startSleeper()]);
    const exited = once(child, "exit");
    await orphan(await recordIn(directory, null));
    const records = await openChildRecords(directory);
    assert.deepEqual(await records.reap(), [{ pid: child.pid, server: "files" }]);
    await exited;
    assert.equal(other.exitCode, null);
    assert.deepEqual(await filesIn(directory), []);
  },
);

test("a child is in a record before it runs, and a program that cannot be started leaves none [A23]", async () => {
  const directory = await testDirectory();
  const records = await openChildRecords(directory);
  const start = async (command: string, args: string[]): Promise<StdioTransport> => {
    const record = records.expect("files", unexpected);
    const transport = new StdioTransport({ command, args, env: record.mark, cwd: null, ...record });
    await transport.start();
    return transport;
  };
  // The child itself reads the directory, before anything else.
  const look = `const [name] = require("node:fs").readdirSync(process.argv[1]);
    process.exit(name === process.env.YARD_MCP_CHILD + ".json" ? 3 : 4);`;
  const transport = await start(process.execPath, ["-e", look, join(directory, "mcp-children")]);
  await until(
    () => transport.endReason,
    (reason) => reason !== null,
  );
  assert.equal(transport.endReason, "process exited with code 3");
  await transport.close();
  await assert.rejects(start("no-such-program-anywhere", []), SpawnError);
  await until(
    () => filesIn(directory),
    (files) => files.length === 0,
  );
});

test("leaves the children of a living broker alone", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const file = await recorded(directory, child);
  assert.deepEqual(await (await openChildRecords(directory)).reap(), []);
  assert.equal(child.exitCode, null);
  assert.equal(await recordIn(directory, child.pid), file);
});

test("never ends another process that got the number of a dead child", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  const file = await recorded(directory, child);
  await orphan(file, { child: { pid: child.pid, startedAt: "earlier" } });
  assert.deepEqual(await (await openChildRecords(directory)).reap(), []);
  assert.notEqual(await processIdentity(child.pid), null);
  assert.deepEqual(await filesIn(directory), []);
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
    const { pid } = child;
    assert.ok(pid !== undefined && grandchild !== undefined);
    await orphan(await recorded(directory, { pid }));
    const exited = once(child, "exit");
    child.stdin.end();
    await exited;
    assert.notEqual(await processIdentity(grandchild), null);
    assert.deepEqual(await (await openChildRecords(directory)).reap(), [{ pid, server: "files" }]);
    assert.equal(await processIdentity(grandchild), null);
  },
);

test("forgets a record of another boot or container without ending anything", async () => {
  const directory = await testDirectory();
  const child = await startSleeper();
  await orphan(await recorded(directory, child), { scope: "another boot" });
  assert.deepEqual(await (await openChildRecords(directory)).reap(), []);
  assert.notEqual(await processIdentity(child.pid), null);
});

test("clears a record that a crash cut short", async () => {
  const directory = await testDirectory();
  const records = await openChildRecords(directory);
  await writeFile(join(directory, "mcp-children", "1.json"), '{"scope":');
  assert.deepEqual(await records.reap(), []);
  assert.deepEqual(await filesIn(directory), []);
});

test("refuses a directory in which others can plant records", async () => {
  const directory = await testDirectory();
  await mkdir(join(directory, "mcp-children"));
  await chmod(join(directory, "mcp-children"), 0o777);
  await assert.rejects(openChildRecords(directory), /must belong to the broker's user/);
});

test("a process that a child started in another session ends with the child", async () => {
  const directory = await testDirectory();
  const record = (await openChildRecords(directory)).expect("files", unexpected);
  const grandchild = await startSleeper({ ...record.mark });
  const stranger = await startSleeper();
  const child = await startSleeper({ ...record.mark });
  record.onSpawning();
  record.onSpawned(child.pid);
  child.kill("SIGKILL");
  await once(child, "exit");
  const ended = once(grandchild, "exit");
  await record.onGone();
  await ended;
  assert.equal(stranger.exitCode ?? stranger.signalCode, null);
  assert.deepEqual(await readdir(join(directory, "mcp-children")), []);
});
