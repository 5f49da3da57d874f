import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const fixture = (id: string, more: object = {}) => fixtureServer(id, ["fixture-server.ts"], more);
const broker = await world.startBroker({
  servers: [
    fixture("up"),
    fixture("single", { maxConcurrency: 1 }),
    fixture("off", { enabled: false }),
    fixture("lazy", { autoConnect: false }),
    fixture("by-run", { scope: "run", autoConnect: false }),
    { id: "broken", command: "no-such-program-of-switchyard" },
  ],
});
for (const id of ["up", "single"]) await broker.until(id, ({ status }) => status === "connected");
await broker.until("broken", ({ status }) => status === "error");
const directory = await testDirectory();

/** The value of one series, by its name and all its labels. */
async function valueOf(series: string): Promise<number | null> {
  const lines = (await broker.metrics.metrics()).split("\n");
  const line = lines.find((each) => each.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length));
}

const echo = (server = "up") => broker.call(server, { tool: "echo", args: { message: "x" } });

test("connections are counted by state, each state at every scrape [A26]", async () => {
  const expected = { connected: 2, disabled: 1, disconnected: 2, error: 1, connecting: 0 };
  for (const [status, count] of Object.entries(expected))
    assert.equal(await valueOf(`yard_mcp_servers{status="${status}"}`), count, status);
  await echo("lazy");
  assert.equal(await valueOf('yard_mcp_servers{status="connected"}'), 3);
  assert.equal(await valueOf('yard_mcp_servers{status="disconnected"}'), 1);
});

test("a broker leaves the servers of another one to that one, and counts what it has itself", async () => {
  const { metrics } = await world.startBroker({
    servers: [fixture("up"), { id: "elsewhere", command: "no-such-program-of-switchyard" }],
    ownership: { instance: "other" },
  });
  const text = await until(
    () => metrics.metrics(),
    (shown) => shown.includes('yard_mcp_servers{status="error"} 1'),
  );
  assert.match(text, /^yard_mcp_servers\{status="disconnected"\} 0$/m);
  assert.doesNotMatch(text, /server="up"/);
});

test("calls are counted by how they ended, errors by their kind, and timed in a histogram", async () => {
  await echo();
  await broker.call("up", { tool: "tool_error", args: {} });
  const ends: Record<string, () => Promise<unknown>> = {
    server_down: () => echo("broken"),
    invalid_arguments: () => broker.call("up", { tool: "echo", args: { message: 1 } }),
    unknown_tool: () => broker.call("up", { tool: "nothing", args: {} }),
  };
  for (const [code, made] of Object.entries(ends)) await assert.rejects(made, { code });
  const server = (code: string) => (code === "server_down" ? "broken" : "up");
  for (const outcome of ["ok", "tool_error", ...Object.keys(ends)])
    assert.equal(
      await valueOf(`yard_mcp_calls_total{server="${server(outcome)}",outcome="${outcome}"}`),
      1,
      outcome,
    );
  assert.equal(await valueOf('yard_mcp_call_seconds_count{server="up"}'), 4);
  const all = await valueOf('yard_mcp_call_seconds_bucket{le="+Inf",server="up"}');
  const within30s = await valueOf('yard_mcp_call_seconds_bucket{le="30",server="up"}');
  assert.deepEqual([all, within30s], [4, 4]);
  assert.ok(Number(await valueOf('yard_mcp_call_seconds_sum{server="up"}')) > 0);
});

test("calls in work and calls that wait are shown while they do", async () => {
  const file = join(directory, "hanging");
  const made = ["first", "second", "third"].map((callId) =>
    broker
      .call("single", { tool: "hang", args: { file }, callId })
      .catch((error: unknown) => error),
  );
  await until(
    () => readFile(file, "utf8").catch(() => ""),
    (text) => text.includes("begun"),
  );
  await until(
    () => valueOf('yard_mcp_calls_queued{server="single"}'),
    (count) => count === 2,
  );
  assert.equal(await valueOf('yard_mcp_calls_in_flight{server="single"}'), 1);
  for (const callId of ["third", "second", "first"])
    await call(world.cli, cancelCall, { callId }, { tokens: { server: "single" } });
  await Promise.all(made);
  assert.equal(await valueOf('yard_mcp_calls_queued{server="single"}'), 0);
  assert.equal(await valueOf('yard_mcp_calls_in_flight{server="single"}'), 0);
});

test("the calls of a run's own instance count as its server's", async () => {
  world.policy.runOf = (token) => token ?? null;
  const file = join(directory, "hanging-in-run");
  const tokens = { server: "by-run" };
  const hang = { tool: "hang", args: { file }, callId: "in-run", token: "run-1" };
  const made = broker.call("by-run", hang).catch((error: unknown) => error);
  await until(
    () => readFile(file, "utf8").catch(() => ""),
    (text) => text.includes("begun"),
  );
  assert.equal(await valueOf('yard_mcp_calls_in_flight{server="by-run"}'), 1);
  await call(world.cli, cancelCall, { callId: "in-run", token: "run-1" }, { tokens });
  await made;
  assert.equal(await valueOf('yard_mcp_calls_in_flight{server="by-run"}'), 0);
  world.policy.runOf = () => null;
});

test("restarts of a server are counted, and the memory of its processes is measured", async () => {
  const { connectedAt } = broker.info("up");
  const { text } = await broker.call("up", { tool: "fork", args: {} });
  assert.ok(Number(await valueOf('yard_mcp_child_memory_bytes{server="up"}')) > 1_000_000);
  process.kill(Number(text.split(" ")[0]), "SIGKILL");
  await broker.until(
    "up",
    (info) => info.status === "connected" && info.connectedAt !== connectedAt,
  );
  assert.equal(await valueOf('yard_mcp_reconnects_total{server="up"}'), 1);
  assert.equal(await valueOf('yard_mcp_circuit{server="up",state="closed"}'), 1);
});
