// Data that the last version left behind works with this one: real data, made by its code.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { approveCall, listApprovals } from "@switchyard/contracts/policy/approvals";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { sessionHistory } from "@switchyard/contracts/agent-runner/sessions";
import { anonymousUser } from "@switchyard/topology/topology";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { plainClient } from "../e2e/plain-client.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";
import { checkOut, whyNoCheckout } from "../lib/old-checkout.ts";
import { leaveRuns, writeAgent, writeInstallation } from "./left-runs.ts";
import { LAST_VERSION } from "./versions.ts";

/** Reads the output of its earlier runs. */
const READING = `
  steps: [{ calls: [{ tool: memory_read, with: {} }] }]
  answer: "{{/results/0/text}}"`;
const directory = await testDirectory();
const skip = (await whyNoCheckout(LAST_VERSION)) ?? false;

test("runs, sessions and approvals of the last version continue", { skip }, async (t) => {
  const code = join(directory, "code");
  await mkdir(code);
  await checkOut(LAST_VERSION, code);
  const installation = await writeInstallation(directory);
  const { project, workspace } = installation;
  await leaveRuns(installation, code);
  await writeAgent(project, "keeper", READING);
  const dev = await startYardDev(installation);
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
      ["me~finished"],
    );
    assert.equal((await call(cli, getRun, { runId: "me~finished" })).run.requester, "me");
  });

  await t.test(
    "a run that asked a question is answered, and publishes it under its owner",
    async () => {
      const asked = { runId: "asking", callId: "me~asking:1:0", answer: "this" };
      await call(bus, answerQuestion, asked);
      assert.equal(await outputOf("asking"), "you said this");
      const event = await client.waitForEvent("yard.evt.run.me.asking.finished", () => true);
      const { seq } = event.payload as { seq: number };
      assert.ok(seq > 3, "its events are counted on");
    },
  );

  await t.test("a run that waits for another one gets its end", async () => {
    const { questions } = await call(bus, listQuestions, { limit: 50 });
    const child = questions.find(({ runId }) => runId.startsWith("me~sub-"));
    assert.ok(child !== undefined, JSON.stringify(questions));
    const { runId, callId } = child;
    await call(bus, answerQuestion, { runId, callId, answer: "that" });
    assert.equal(await outputOf("parent"), "it said: you said that");
  });

  await t.test("a call that waited for an approval is made", async () => {
    const { approvals } = await call(cli, listApprovals, { runId: "me~approval" });
    await call(cli, approveCall, { id: approvals[0]?.id ?? "" });
    await outputOf("approval");
    assert.equal(await readFile(join(workspace, "note.txt"), "utf8"), "approved");
  });

  await t.test("what an agent kept is its owner's", async () => {
    client.publish("yard.cmd.me.run.start.keeper", { runId: "own", input: "x" });
    assert.equal(await outputOf("own"), "likes");
  });

  await t.test("events and journals are read", async () => {
    for (const runId of ["finished", "keeping", "said", "asking", "parent"]) {
      const { events } = await call(bus, listRunEvents, { runId });
      assert.equal(events.at(-1)?.event, "finished", runId);
    }
  });

  await t.test("a session continues where it was, with the message that waited", async () => {
    await call(bus, answerQuestion, {
      runId: "turn",
      callId: "me~turn:1:0",
      answer: "first",
    });
    assert.equal(await outputOf("turn"), "you said first");
    assert.equal(await outputOf("queued"), "hello three");
    const { messages } = await call(bus, sessionHistory, { session: "support" });
    assert.deepEqual(
      messages.map(({ text }) => text).filter((text) => text.startsWith("hello")),
      ["hello one", "hello three"],
    );
  });
});
