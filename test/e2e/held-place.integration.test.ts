import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { anonymousUser } from "@switchyard/topology/topology";
import { until } from "@switchyard/local-servers/until";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const project = join(directory, "project");
await cp(join(root, "bench/project"), project, { recursive: true });
// A slot that is never released is kept for a quarter of an hour: longer than any test waits.
await writeFile(
  join(project, "policies/demo.yaml"),
  `version: 1
budgets:
  - { id: one-at-a-time, for: { users: [${anonymousUser.name}] }, per: user, concurrency: 1 }
rules:
  - { id: echo, effect: allow, approval: auto, what: { tools: ["echo.echo", "slow.hang"] } }
`,
);
const slow = join(root, "services/mcp-broker/test-fixtures/fixture-server.ts");
const echoServer = join(root, "bench/broker/echo-server.ts");
await writeFile(
  join(project, "mcp-servers.json"),
  JSON.stringify({
    mcpServers: {
      echo: { command: process.execPath, args: [echoServer] },
      slow: { command: process.execPath, args: [slow] },
    },
  }),
);
const dev = await startYardDev({
  project: relative(root, project),
  stateDir: join(directory, "state"),
});
const bus = await connectBus({
  servers: dev.natsUrl,
  user: anonymousUser.name,
  inboxPrefix: anonymousUser.inboxPrefix,
});
const cliBus = await connectAsCli(dev);
after(async () => {
  await bus.close();
  await cliBus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

const echo = (args: Record<string, unknown>) =>
  call(bus, callTool, { tool: "echo", args }, { tokens: { server: "echo" } });

/** Result of the call: its text, or the code of its error. */
async function endOf(args: Record<string, unknown>): Promise<string> {
  try {
    return (await echo(args)).text;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code;
  }
}

/** The slot is released a moment after the answer, and until then the next call is denied. */
async function endWithPlace(args: Record<string, unknown>): Promise<string> {
  return until(
    () => endOf(args),
    (answer) => answer !== "denied",
  );
}

test("a call that was allowed and not made releases its slot in a limit of concurrent calls", async () => {
  for (let round = 0; round < 3; round += 1) {
    // The policy allows it, and the broker detects that its arguments do not fit the tool.
    assert.equal(await endWithPlace({ message: round }), "invalid_arguments");
    assert.equal(await endWithPlace({ message: `made ${round}` }), `made ${round}`);
  }
});

test("while a call is in work its place is taken, and it is free again when that call was given up", async () => {
  const trace = join(directory, "trace");
  const slowly = async () =>
    (await call(cliBus, listServers, {})).servers.find(({ id }) => id === "slow");
  await until(slowly, (server) => server?.status === "connected");
  const hang = async () => {
    const request = { tool: "hang", args: { file: trace }, callId: "hanging" };
    return call(bus, callTool, request, { tokens: { server: "slow" } }).catch(
      (error: unknown) => error,
    );
  };
  const isHanging = until(async () => (await readFile(trace, "utf8").catch(() => "")) !== "");
  // The slot of the last call may still be held.
  const { hanging } = await until(
    async () => {
      const called = hang();
      return { hanging: called, ended: await Promise.race([called, isHanging]) };
    },
    ({ ended }) => !isError(ended, callTool, "denied"),
  );
  assert.equal(await endOf({ message: "meanwhile" }), "denied");
  await call(bus, cancelCall, { callId: "hanging" }, { tokens: { server: "slow" } });
  assert.ok(isError(await hanging, callTool, "cancelled"));
  assert.equal(await endWithPlace({ message: "after it" }), "after it");
});
