// State after a restore, and losses with Redis or with JetStream: the table in docs/operations.md.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { plainClient, type PlainClient } from "./plain-client.ts";
import { yardCommand } from "../lib/yard-command.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const directory = await testDirectory();
const project = join(directory, "project");
const backup = join(directory, "backup.tar.gz");
const workspace = join(directory, "workspace");

const AGENTS = {
  greeter: `plan: { answer: "hello {{/input}}" }`,
  asker: `plan:
  steps: [{ calls: [{ tool: ask_user, with: { question: "Which one?" } }] }]
  answer: "you said {{/results/0/text}}"`,
};

/** The parts of the state directory of `yard dev` that make up an installation. */
const FOLDERS = { keys: "keys", nats: "data/nats", redis: "data/redis" } as const;

/** Runs the operators' own script. */
function script(action: "save" | "restore", ...folders: string[]): Promise<unknown> {
  const file = join(import.meta.dirname, "../../deploy/backup.sh");
  return promisify(execFile)("sh", [file, action, backup, ...folders]);
}

test("the directory lost+found of a volume is left alone", async () => {
  const volume = join(directory, "volume/nats");
  const other = join(directory, "other/nats");
  for (const path of [join(volume, "lost+found/x"), join(other, "lost+found"), join(volume, "a")])
    await mkdir(path, { recursive: true });
  await writeFile(join(volume, "a/lost+found"), "a file of that name is state");
  const file = join(import.meta.dirname, "../../deploy/backup.sh");
  const saved = join(directory, "volume.tar.gz");
  await promisify(execFile)("sh", [file, "save", saved, volume]);
  await promisify(execFile)("sh", [file, "restore", saved, other]);
  assert.deepEqual((await readdir(other, { recursive: true })).toSorted(), [
    "a",
    "a/lost+found",
    "lost+found",
  ]);
});

test("an installation is stopped and deploy/backup.sh keeps its folders in one file", async (t) => {
  for (const path of [workspace, join(project, "agents"), join(project, "policies")])
    await mkdir(path, { recursive: true });
  for (const [name, plan] of Object.entries(AGENTS))
    await writeFile(
      join(project, `agents/${name}.yaml`),
      `name: ${name}\ndescription: for the test\nmodel: scripted/plan\n${plan}\n`,
    );
  await writeFile(
    join(project, "policies/rules.yaml"),
    "version: 1\nrules:\n  - { id: all, effect: allow, approval: auto, what: { tools: [ask_user] } }\n",
  );
  await writeFile(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
  const stateDir = join(directory, "state");
  const { client, stop } = await started(t, stateDir);
  client.publish("yard.cmd.me.run.start.greeter", { runId: "ended", input: "world" });
  client.publish("yard.cmd.me.run.start.asker", { runId: "asking", input: "x" });
  await client.waitForEvent("yard.evt.run.me.ended.finished", () => true);
  await client.waitForEvent("yard.evt.run.me.asking.waiting", () => true);
  await stop();
  const folders = Object.values(FOLDERS).map((path) => join(stateDir, path));
  await script("save", ...folders);
  await assert.rejects(script("save", ...folders), /is there already/);
  await assert.rejects(script("restore", ...folders), /keys is not empty/);
  await rm(stateDir, { recursive: true });
  const whole = await readFile(backup);
  await appendFile(backup, "x");
  await assert.rejects(script("restore", ...folders), /is not what was saved/);
  await writeFile(backup, whole);
});

test("Redis, JetStream and keys restored: ended runs, events and the audit are there, and a run that waited continues", async (t) => {
  const { client, cli, stateDir } = await restored(t, []);
  assert.deepEqual(await runsOf(cli), ["asking", "ended"]);
  assert.ok((await eventsOf(cli, "ended")).includes("finished"));
  await yardCommand(stateDir, "audit", "verify");
  await answer(cli, client);
  const count = (await eventsOf(cli, "asking")).length;
  assert.equal(new Set(await sequencesOf(cli, "asking")).size, count, "counted on, without a gap");
  await works(client);
});

test("JetStream lost, Redis kept: runs are there and waiting ones continue; earlier events and audit are gone", async (t) => {
  const { client, cli } = await restored(t, ["nats"]);
  assert.deepEqual(await runsOf(cli), ["asking", "ended"]);
  assert.deepEqual(await eventsOf(cli, "ended"), []);
  await answer(cli, client);
  await works(client);
});

test("Redis lost, JetStream kept: events and audit of before are there, the runs are not, and new ones work", async (t) => {
  const { client, cli, stateDir } = await restored(t, ["redis"]);
  assert.deepEqual(await runsOf(cli), []);
  assert.ok((await eventsOf(cli, "ended")).includes("finished"));
  await yardCommand(stateDir, "audit", "verify");
  await works(client);
});

/** Starts an instance from the backup without some of its folders. */
async function restored(t: TestContext, lost: readonly ("nats" | "redis")[]) {
  const stateDir = join(directory, `restored-${lost.join("-") || "all"}`);
  const kept = Object.entries(FOLDERS).filter(([name]) => !lost.some((each) => each === name));
  await script("restore", ...kept.map(([, path]) => join(stateDir, path)));
  return { stateDir, ...(await started(t, stateDir)) };
}

async function started(t: TestContext, stateDir: string) {
  const dev = await startYardDev({ project, stateDir, workspace });
  const cli = await connectAsCli(dev);
  const client = await plainClient(dev.natsUrl);
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await Promise.all([cli.close(), client.close()]);
    assert.equal(await dev.stop(), 0);
  };
  t.after(stop);
  return { client, cli, stop };
}

async function runsOf(cli: Bus): Promise<string[]> {
  const { runs } = await call(cli, listRuns, { limit: 50 });
  return runs.map(({ runId }) => runId.replace(/^me~/, "")).toSorted();
}

async function answer(cli: Bus, client: PlainClient): Promise<void> {
  const [question] = await until(
    async () => (await call(cli, listQuestions, { limit: 50 })).questions,
    (found) => found.length > 0,
  );
  assert.ok(question);
  const { runId, callId } = question;
  await call(cli, answerQuestion, { runId, callId, answer: "this" });
  const event = await client.waitForEvent("yard.evt.run.me.asking.finished", () => true);
  assert.equal((event.payload as { output: unknown }).output, "you said this");
}

async function works(client: PlainClient): Promise<void> {
  client.publish("yard.cmd.me.run.start.greeter", { runId: "after", input: "again" });
  const event = await client.waitForEvent("yard.evt.run.me.after.finished", () => true);
  assert.equal((event.payload as { output: unknown }).output, "hello again");
}

async function eventsOf(cli: Bus, runId: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { subject } of stored(cli, runId)) names.push(subject.split(".").at(-1) ?? "");
  return names;
}

async function sequencesOf(cli: Bus, runId: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { payload } of stored(cli, runId))
    found.push((payload as { seq?: unknown }).seq);
  return found;
}

function stored(cli: Bus, runId: string) {
  const filters = [`yard.evt.run.me.${runId}.>`];
  return readEvents(cli, { filters, from: "beginning", stopAtEnd: true });
}
