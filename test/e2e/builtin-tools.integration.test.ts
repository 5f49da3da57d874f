import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { getRun, listRuns, startRun } from "@switchyard/contracts/agent-runner/runs";
import { anonymousUser } from "@switchyard/topology/topology";
import { yard as yardCommand, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import type { YardResult } from "../../apps/cli/test-fixtures/yard-result.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const project = join(directory, "project");
for (const folder of ["agents", "policies", "skills"])
  await mkdir(join(project, folder), { recursive: true });
const shared = join(directory, "shared");
await mkdir(shared);
await writeFile(
  join(project, "mcp-servers.json"),
  JSON.stringify({
    mcpServers: {
      files: {
        command: "node",
        args: [
          "${YARD_HOME}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
          shared,
        ],
        roots: [shared], // this server prefers them to its argument
      },
    },
  }),
);
await writeFile(
  join(project, "policies/rules.yaml"),
  `version: 1
rules:
  - id: look
    effect: allow
    who: { agents: [reader], replayed: true }
    what: { tools: [read_file] }
  - id: keep
    effect: allow
    approval: auto
    who: { agents: [keeper] }
    what: { tools: ["memory_*"] }
  - id: mix
    effect: allow
    approval: auto
    who: { agents: [mixer] }
    what: { tools: [read_file, "files.*"] }
`,
);
const note = join(shared, "note.txt");
await writeFile(
  join(project, "agents/mixer.yaml"),
  JSON.stringify({
    name: "mixer",
    description: "works with built-in tools and with those of an MCP server, side by side",
    tools: ["read_file", "files.write_file", "mcp__files__read_text_file"],
    plan: {
      steps: [
        { calls: [{ tool: "read_file", with: { path: "LICENSE" }, as: "license" }] },
        { calls: [{ tool: "mcp__files__write_file", with: { path: note, content: "a note" } }] },
        {
          calls: [
            { tool: "mcp__files__read_text_file", with: { path: note }, as: "note" },
            { tool: "mcp__files__create_directory", with: { path: join(shared, "more") } },
          ],
        },
      ],
      answer: "{{/results/note/text}}; {{/results/license/text}}",
    },
  }),
);
for (const name of ["keeper", "locked"]) {
  const write = { tool: "memory_write", with: { name: "likes", content: "tea" } };
  const plan = { steps: [{ calls: [write] }], answer: "done" };
  const agent = { name, description: "remembers", memory_bytes: 1_024, plan };
  await writeFile(join(project, `agents/${name}.yaml`), JSON.stringify(agent));
}
await writeFile(
  join(project, "agents/reader.yaml"),
  `name: reader
description: reads with a built-in tool, and tries to run a command
model: scripted/plan
systemPrompt: You are a test.
tools: [read_file, execute_command]
plan:
  steps:
    - calls:
        - { tool: read_file, with: { path: LICENSE }, as: license }
        - { tool: execute_command, with: { command: "touch made-by-a-denied-call" } }
  answer: "{{/results/license/text}}"
`,
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

test("an agent reads a file with a built-in tool, and its denied command does not run [E8] [ER1]", async () => {
  await publishCommand(bus, startRun, { agent: "reader" }, { runId: "builtin", input: "x" });
  const events = new Map<string, unknown[]>();
  const filters = ["yard.evt.run.me.builtin.*"];
  for await (const { subject, payload } of readEvents(bus, { filters, from: "beginning" })) {
    const name = subject.split(".").at(-1) ?? "";
    events.set(name, [...(events.get(name) ?? []), payload]);
    if (["finished", "failed", "rejected", "dead"].includes(name)) break;
  }
  const text = JSON.stringify([...events]);
  assert.match(JSON.stringify(events.get("finished")), /MIT License/, text);
  assert.match(text, /execute_command/);
  assert.match(text, /no rule/i);
  assert.equal(existsSync(join(root, "made-by-a-denied-call")), false);
});

test("an agent uses built-in tools and some of an MCP server's side by side, and writes and reads files with the reference server [A14, A59, A60, C2, C18, C20, CR1, E15]", async () => {
  const { stdout } = await yard("run", "mixer", "x", "--wait-for", "60");
  assert.match(stdout, /^a note; .*MIT License/);
  assert.equal(await readFile(note, "utf8"), "a note");
  assert.equal(existsSync(join(shared, "more")), false);
  const { runs } = await call(cliBus, listRuns, { limit: 1 });
  const filters = [`yard.evt.run.${runs[0]?.runId.replace("~", ".")}.*`];
  const ends: string[] = [];
  for await (const { subject, payload } of readEvents(bus, { filters, from: "beginning" })) {
    const name = subject.split(".").at(-1) ?? "";
    const { tool } = payload as { tool?: string };
    if (["tool-completed", "tool-denied", "tool-failed"].includes(name))
      ends.push(`${tool} ${name}`);
    if (name === "finished") break;
  }
  assert.deepEqual(ends.toSorted(), [
    "mcp__files__create_directory tool-denied",
    "mcp__files__read_text_file tool-completed",
    "mcp__files__write_file tool-completed",
    "read_file tool-completed",
  ]);
});

test("what an agent kept is in the prompt of its next run, where a rule lets it read memory", async () => {
  for (const agent of ["keeper", "keeper", "locked"])
    await yard("run", agent, "x", "--wait-for", "60");
  const { runs } = await call(cliBus, listRuns, { limit: 3 });
  const memories = [];
  for (const { runId, agent } of runs.toReversed()) {
    const { run } = await call(cliBus, getRun, { runId });
    memories.push([agent, run.memory]);
  }
  const nothing = { kept: 0, given: 0, named: 0 };
  assert.deepEqual(memories, [
    ["keeper", nothing],
    ["keeper", { kept: 1, given: 1, named: 0 }],
    ["locked", { ...nothing, refused: "no rule allows memory_read for agent locked" }],
  ]);
});

test("a run is recorded by the command line, and played again from the file and by its id", async () => {
  const file = join(directory, "recorded.json");
  const first = await yard("run", "reader", "x", "--record", file);
  assert.match(first.stdout, /MIT License/);
  assert.match(first.stderr, new RegExp(`recorded 2 answers in ${file}`));
  const replayed = await yard("runs", "replay", file);
  assert.equal(replayed.stdout, first.stdout);
  assert.match(replayed.stderr, /the models' answers of run .* \(scripted\/plan\)/);
  const { runId } = JSON.parse(await readFile(file, "utf8")) as { runId: string };
  assert.equal((await yard("runs", "replay", runId)).stdout, first.stdout);

  await writeFile(file, "{}");
  await assert.rejects(yard("runs", "replay", file), /is not a recording of a run/);
  await assert.rejects(
    yard("runs", "replay", "no/such.json"),
    /neither the id of a run nor a file/,
  );
});

async function yard(...args: readonly string[]): Promise<YardResult> {
  const ended = await yardCommand(args, yardEnvironment(dev.stateDir), root);
  if (ended.code !== 0) throw new Error(ended.stderr);
  return ended;
}
