// What an installation from before runs had owners left behind goes on with this version: its real data, made by its code.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { approveCall, listApprovals } from "@switchyard/contracts/approvals";
import { answerQuestion, listQuestions } from "@switchyard/contracts/run-waits";
import { getRun, listRuns } from "@switchyard/contracts/runs";
import { sessionHistory } from "@switchyard/contracts/sessions";
import { anonymousUser } from "@switchyard/contracts/topology";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { until } from "@switchyard/local-servers/until";
import { checkOut, whyNoCheckout } from "../lib/old-checkout.ts";
import { connectAsCli, startYardDev, type DevInstance } from "../lib/yard-dev.ts";
import { plainClient } from "./plain-client.ts";

const BEFORE_OWNERS = "90954d6";
const directory = await testDirectory();
const skip = (await whyNoCheckout(BEFORE_OWNERS)) ?? false;

const AGENTS = {
  greeter: `answer: "hello {{/input}}"`,
  asker: `
  steps: [{ calls: [{ tool: ask_user, with: { question: "Which one?" } }] }]
  answer: "you said {{/results/0/text}}"`,
  parent: `
  steps: [{ calls: [{ tool: agent, with: { agent: asker, task: ask } }] }]
  answer: "it said: {{/results/0/text}}"`,
  writer: `
  steps: [{ calls: [{ tool: write_file, with: { path: note.txt, content: approved } }] }]
  answer: "{{/results/0/text}}"`,
  keeper: `
  steps: [{ calls: [{ tool: memory_write, with: { name: likes, content: tea } }] }]
  answer: "kept"`,
};
/** Reads what it kept in earlier runs. */
const READING = `
  steps: [{ calls: [{ tool: memory_read, with: {} }] }]
  answer: "{{/results/0/text}}"`;
const RULES = `version: 1
rules:
  - { id: writes, effect: allow, approval: always, what: { tools: [write_file] } }
  - { id: others, effect: allow, approval: auto, what: { tools: [agent, ask_user, "memory_*"] } }
`;
/** Older versions would refuse it. */
const RIGHTS = "rights:\n  - { id: sharing, right: share-memory, users: [me] }\n";

test("runs, sessions and approvals of an earlier version go on", { skip }, async (t) => {
  const [code, project, workspace, stateDir] = ["code", "project", "workspace", "state"].map(
    (name) => join(directory, name),
  ) as [string, string, string, string];
  for (const path of [code, workspace, join(project, "agents"), join(project, "policies")])
    await mkdir(path, { recursive: true });
  const writeAgent = (name: string, plan: string, more = ""): Promise<void> =>
    writeFile(
      join(project, `agents/${name}.yaml`),
      `name: ${name}\ndescription: for the test\nmodel: scripted/plan\n${more}plan:\n  ${plan.trim()}\n`,
    );
  for (const [name, plan] of Object.entries(AGENTS)) await writeAgent(name, plan);
  await writeFile(join(project, "policies/rules.yaml"), RULES);
  await writeFile(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
  await checkOut(BEFORE_OWNERS, code);
  await leaveRuns(await startYardDev({ checkout: code, project, stateDir, workspace }));

  await writeAgent("keeper", READING);
  const dev = await startYardDev({ project, stateDir, workspace });
  const { inboxPrefix, name: user } = anonymousUser;
  const bus = await connectBus({ servers: dev.natsUrl, user, inboxPrefix });
  const cli = await connectAsCli(dev);
  const client = await plainClient(dev.natsUrl);
  t.after(async () => {
    await Promise.all([bus.close(), cli.close(), client.close()]);
    await dev.stop();
  });
  const outputOf = async (runId: string) => {
    // A message that waited in a session is a run only when its turn comes.
    const reply = await until(
      () => call(bus, getRun, { runId }).catch(() => null),
      (found) => found !== null && !["running", "waiting"].includes(found.run.status),
    );
    return reply?.run.output;
  };

  await t.test("a run that has ended is found, and its command makes no second one", async () => {
    assert.equal(await outputOf("finished"), "hello world");
    client.publish("yard.cmd.me.run.start.greeter", { runId: "finished", input: "world" });
    client.publish("yard.cmd.me.run.start.greeter", { runId: "later", input: "you" });
    await client.waitForEvent("yard.evt.run.me.later.finished", () => true);
    const { runs } = await call(bus, listRuns, { limit: 50 });
    const named = runs.filter(({ runId }) => runId.endsWith("finished"));
    assert.deepEqual(
      named.map(({ runId }) => runId),
      ["finished"],
    );
    assert.equal((await call(cli, getRun, { runId: "finished" })).run.requester, "me");
  });

  await t.test("a run that asked is answered, and tells it under its owner", async () => {
    const asked = { runId: "asking", callId: "asking:1:0", answer: "this" };
    await call(bus, answerQuestion, asked);
    assert.equal(await outputOf("asking"), "you said this");
    const event = await client.waitForEvent("yard.evt.run.me.asking.finished", () => true);
    const { seq } = event.payload as { seq: number };
    assert.ok(seq > 3, "its events are counted on");
  });

  await t.test("a run that waits for another one hears its end", async () => {
    const { questions } = await call(bus, listQuestions, { limit: 50 });
    const child = questions.find(({ runId }) => runId.startsWith("sub-"));
    assert.ok(child !== undefined, JSON.stringify(questions));
    const { runId, callId } = child;
    await call(bus, answerQuestion, { runId, callId, answer: "that" });
    assert.equal(await outputOf("parent"), "it said: you said that");
  });

  await t.test("a call that waited for an approval is made", async () => {
    const { approvals } = await call(cli, listApprovals, { runId: "approval" });
    await call(cli, approveCall, { id: approvals[0]?.id ?? "" });
    await outputOf("approval");
    assert.equal(await readFile(join(workspace, "note.txt"), "utf8"), "approved");
  });

  await t.test(
    "what an agent kept is not given to one owner, but to an agent that shares its memory",
    async () => {
      const read = async (runId: string) => {
        client.publish("yard.cmd.me.run.start.keeper", { runId, input: "x" });
        return outputOf(runId);
      };
      assert.equal(await read("own"), "Nothing is kept yet.");
      assert.ok(dev.log.some((line) => JSON.stringify(line).includes("shared_memory")));
      await writeAgent("keeper", READING, "shared_memory: true\n");
      await writeFile(join(project, "policies/rules.yaml"), `${RULES}${RIGHTS}`);
      let runs = 0;
      await until(
        () => read(`sharing-${(runs += 1)}`),
        (text) => text === "likes",
      );
    },
  );

  await t.test("a session goes on where it was, with the message that waited", async () => {
    await call(bus, answerQuestion, { runId: "turn", callId: "turn:1:0", answer: "first" });
    assert.equal(await outputOf("turn"), "you said first");
    assert.equal(await outputOf("queued"), "hello three");
    const { messages } = await call(bus, sessionHistory, { session: "support" });
    assert.deepEqual(
      messages.map(({ text }) => text).filter((text) => text.startsWith("hello")),
      ["hello one", "hello three"],
    );
  });
});

/** Starts runs with the old version, each of which waits for something else, and stops it. */
async function leaveRuns(dev: DevInstance): Promise<void> {
  const client = await plainClient(dev.natsUrl);
  const start = (agent: string, runId: string, input: string, session?: string): void =>
    client.publish(`yard.cmd.me.run.start.${agent}`, { runId, input, session });
  const told = (runId: string, name: string) =>
    client.waitForEvent(`yard.evt.run.${runId}.${name}`, () => true);
  start("greeter", "finished", "world");
  start("asker", "asking", "x");
  start("parent", "parent", "x");
  start("writer", "approval", "x");
  start("keeper", "keeping", "x");
  start("greeter", "said", "one", "support");
  await told("said", "finished");
  start("asker", "turn", "two", "support");
  await told("turn", "waiting");
  start("greeter", "queued", "three", "support");
  await Promise.all([
    told("finished", "finished"),
    told("keeping", "finished"),
    told("asking", "waiting"),
    told("parent", "waiting"),
    told("approval", "waiting"),
    told("queued", "queued"),
    client.waitForEvent("yard.evt.run.*.waiting", ({ subject }) => subject.includes(".sub-")),
  ]);
  await client.close();
  assert.equal(await dev.stop(), 0);
}
