import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { publishEvent } from "@switchyard/bus/publish";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { type ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  runCancelled,
  runFailed,
  runFinished,
} from "@switchyard/contracts/agent-runner/run-events";
import { sessionEnded } from "@switchyard/contracts/agent-runner/session-events";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { fixture, fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";
import { processIdentity } from "../process/process-identity.ts";

const world = await testWorld();
world.policy.runOf = (token) => token ?? null;
const CHAT = `ses-${"0".repeat(26)}-1`;
const OTHER_CHAT = `ses-${"0".repeat(26)}-2`;
world.policy.sessionOf = (token) =>
  token === undefined ? null : token.startsWith("other") ? OTHER_CHAT : CHAT;
const directory = await testDirectory();
const book = join(directory, "book");
await writeFile(book, "");

const scoped = (id: string, more: object) => fixtureServer(id, ["witness-server.ts", book], more);

const broker = await world.startBroker({
  servers: [
    scoped("by-run", { scope: "run", maxInstances: 2 }),
    scoped("by-session", { scope: "session" }),
    scoped("fleeting", { scope: "run", instanceIdleMs: 100 }),
    scoped("shared", {}),
    fixtureServer("stubborn", ["witness-server.ts", book, "stubborn"], { scope: "run" }),
  ],
});

/** Calls as a run; the answer is the id of the process that executed the call. */
async function pidOf(server: string, run: string): Promise<number> {
  return Number(
    (await broker.call(server, { tool: "note", args: { note: run }, token: run })).text,
  );
}

const gone = (pid: number) =>
  until(
    () => processIdentity(pid),
    (identity) => identity === null,
  );

const end = { seq: 1, at: new Date(0).toISOString(), steps: 1 };
const by = { by: "cli", reason: null };

test("each run has an instance of its own, and the tools are listed without one", async () => {
  const { tools } = await broker.tools({ server: "by-run" });
  assert.equal(tools.length, 2);
  assert.equal(broker.broker.pool.instances.count("by-run"), 0);
  const [one, two, again] = [
    await pidOf("by-run", "run-1"),
    await pidOf("by-run", "run-2"),
    await pidOf("by-run", "run-1"),
  ];
  assert.notEqual(one, two);
  assert.equal(one, again);
  assert.equal(broker.broker.pool.instances.count("by-run"), 2);
  // A shared server is the same for all.
  assert.equal(await pidOf("shared", "run-1"), await pidOf("shared", "run-2"));
});

test("more runs than instances are refused with the limit, until one ends", async () => {
  const third = () => pidOf("by-run", "run-3");
  await assert.rejects(third, (error) => {
    assert.ok(isError(error, callTool, "instances_exhausted"));
    assert.deepEqual(error.data, { server: "by-run", scope: "run", limit: 2 });
    return true;
  });
  const pid = await pidOf("by-run", "run-2");
  await publishEvent(
    world.cli,
    runFailed,
    { owner: "cli", runId: "run-2" },
    { ...end, runId: "run-2", failure: { code: "internal", message: "test" } },
  );
  await gone(pid);
  assert.ok((await third()) > 0);
});

test("the processes of a run end with it, however it ends", async () => {
  const pids = [await pidOf("by-run", "run-1")];
  const ofSession = await pidOf("by-session", "run-1");
  await publishEvent(
    world.cli,
    runFinished,
    { owner: "cli", runId: "run-1" },
    {
      ...end,
      runId: "run-1",
      output: "",
      model: "scripted/plan",
      toolCalls: 0,
      usage: { inputTokens: 0, outputTokens: 0 },
      durationMs: 0,
    },
  );
  for (const pid of pids) await gone(pid);
  // A session outlives its runs.
  assert.equal(await pidOf("by-session", "run-4"), ofSession);
  const third = await pidOf("by-run", "run-3");
  await publishEvent(
    world.cli,
    runCancelled,
    { owner: "cli", runId: "run-3" },
    { ...end, ...by, runId: "run-3" },
  );
  await gone(third);
  assert.equal(broker.broker.pool.instances.count("by-run"), 0);
});

test("an instance begins when nothing of the one before it is left, however many calls come for it", async () => {
  const before = await pidOf("stubborn", "run-7");
  const { instances } = broker.broker.pool;
  const ended = instances.endHolder({ scope: "run", id: "run-7" });
  assert.notEqual(await processIdentity(before), null, "it does not end by itself");
  const calls = [1, 2].map(async () => {
    const pid = await pidOf("stubborn", "run-7");
    return { pid, isAlone: (await processIdentity(before)) === null };
  });
  const [one, two] = await Promise.all(calls);
  assert.deepEqual([one?.isAlone, two?.isAlone, one?.pid === two?.pid], [true, true, true]);
  await ended;
  await instances.endHolder({ scope: "run", id: "run-7" });
});

test("the processes of a session end with it, and those of other sessions stay", async () => {
  const [one, other] = [await pidOf("by-session", "run-5"), await pidOf("by-session", "other-1")];
  assert.notEqual(one, other);
  await publishEvent(
    world.cli,
    sessionEnded,
    { owner: "cli", sessionId: CHAT },
    {
      sessionId: CHAT,
      key: "main",
      owner: "cli",
      seq: 1,
      at: new Date(0).toISOString(),
      reason: "deleted",
    },
  );
  await gone(one);
  assert.equal(await pidOf("by-session", "other-2"), other);
  assert.notEqual(await pidOf("by-session", "run-6"), one);
});

test("an instance without calls ends after its idle time", async () => {
  await gone(await pidOf("fleeting", "run-9"));
  await until(
    () => broker.broker.pool.instances.count("fleeting"),
    (count) => count === 0,
  );
});

test("a call that belongs to no run is refused: it could only reach another caller's instance", async () => {
  await assert.rejects(broker.call("by-run", { tool: "note", args: { note: "x" } }), (error) =>
    isError(error, callTool, "scope_required"),
  );
});

test("a stateless HTTP server is served by every broker, and one with sessions by its owner", async () => {
  const server = spawn(process.execPath, [fixture("http-server.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(server, "exit");
  after(async () => {
    server.kill("SIGKILL");
    await exited;
  });
  const [port] = await once(server.stdout, "data");
  const url = `http://127.0.0.1:${String(port).trim()}/mcp`;
  const servers = [
    { id: "open", url },
    { id: "bound", url, stateful: true },
  ];
  const a = await world.startBroker({ servers, ownership: { instance: "a" } });
  const b = await world.startBroker({ servers, ownership: { instance: "b" } });
  const isUp = ({ status }: ServerInfo) => status === "connected";
  await Promise.all([a.until("open", isUp), b.until("open", isUp)]);
  const connected = (id: string) =>
    [a, b].filter((each) => (each.broker.pool.find(id)?.connection.session ?? null) !== null)
      .length;
  await until(
    () => connected("bound"),
    (count) => count === 1,
  );
  assert.equal(connected("open"), 2);
  const echo = (id: string) => b.call(id, { tool: "echo", args: { message: id } });
  assert.equal((await echo("open")).text, "open");
  assert.equal((await echo("bound")).text, "bound");
  await a.stop();
  assert.equal((await echo("open")).text, "open");
  await b.until("bound", isUp);
  assert.equal((await echo("bound")).text, "bound");
});
