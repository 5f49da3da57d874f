import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { runToolsUnavailable } from "@switchyard/contracts/agent-runner/run-events";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { anonymousUser } from "@switchyard/topology/topology";
import { until } from "@switchyard/local-servers/until";
import {
  startChatServer,
  textChunks,
} from "../../services/agent-runner/test-fixtures/chat-server.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

// A server that connects when it is first needed, and one that does not start.
const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const project = join(directory, "project");
for (const folder of ["agents", "policies", "skills"])
  await mkdir(join(project, folder), { recursive: true });
await writeFile(
  join(project, "mcp-servers.json"),
  JSON.stringify({
    mcpServers: {
      later: {
        command: process.execPath,
        args: [join(root, "bench/broker/echo-server.ts")],
        autoConnect: false,
      },
      broken: { command: join(directory, "no-such-program"), autoConnect: false },
    },
  }),
);
await writeFile(
  join(project, "policies/rules.yaml"),
  `version: 1
rules:
  - { id: servers, effect: allow, approval: auto, what: { tools: ["later.*", "broken.*"] } }
`,
);
const agent = (name: string, tools: string) =>
  writeFile(
    join(project, `agents/${name}.yaml`),
    `name: ${name}\ndescription: says what its model says\nmodel: local/chat\ntools: ${tools}\nprompt: Help.\n`,
  );
await agent("all", '["*"]');
await agent("named", "[later.echo, broken.*]");
const chat = await startChatServer();
const local = { type: "openai-compatible", baseURL: chat.baseURL };
await writeFile(join(project, "models.json"), JSON.stringify({ providers: { local } }));
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

test("an agent that names a server gets the tools that are known only when it is connected [C18] [E5]", async () => {
  assert.deepEqual((await runOf("all")).tools, [], "all that there is are no servers by name");
  assert.equal(await statusOf("later"), "disconnected");

  const { tools } = await runOf("named");
  assert.deepEqual(tools, ["mcp__later__echo"]);
  assert.equal(await statusOf("later"), "connected");
  assert.deepEqual((await runOf("all")).tools, ["mcp__later__echo"]);
});

test("a run says of which server it was not given the tools, and why [CR12]", async () => {
  const { run } = await runOf("named");
  assert.deepEqual(
    run.toolsUnavailable?.map(({ server }) => server),
    ["broken"],
  );
  const reason = run.toolsUnavailable?.[0]?.reason ?? "";
  assert.match(reason, /no-such-program/);
  const filters = [`yard.evt.run.${run.runId.replace("~", ".")}.tools-unavailable`];
  for await (const { payload } of readEvents(bus, { filters, from: "beginning" })) {
    assert.deepEqual(runToolsUnavailable.payload.parse(payload).servers, run.toolsUnavailable);
    break;
  }
});

let runs = 0;

/** A run that has ended, and the names of the MCP tools that its model was offered. */
async function runOf(name: string) {
  const runId = `${name}-${(runs += 1)}`;
  chat.answer({ chunks: textChunks("done") });
  await publishCommand(bus, startRun, { agent: name }, { runId, input: "x" });
  const { run } = await until(
    () => call(bus, getRun, { runId }).catch(() => null),
    (reply) => reply?.run.status === "succeeded",
  ).then((reply) => reply ?? assert.fail("no run"));
  // The request is the SDK's, in the protocol's own form.
  const { tools = [] } = chat.requests.at(-1) as { tools?: { function: { name: string } }[] };
  const names = tools.map((tool) => tool.function.name);
  return { run, tools: names.filter((tool) => tool.startsWith("mcp__")) };
}

async function statusOf(server: string): Promise<string | undefined> {
  return (await call(cliBus, listServers, {})).servers.find(({ id }) => id === server)?.status;
}
