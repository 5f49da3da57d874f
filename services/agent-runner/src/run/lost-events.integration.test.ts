import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { publishEvent } from "@switchyard/bus/publish";
import { runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { eventStream } from "@switchyard/topology/streams";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";
import { openUnsyncedEvents } from "../journal/unsynced-events.ts";
import { findLostEvents } from "../waits/find-lost-events.ts";

const dataDir = await testDirectory();
const copy = await testDirectory();
let nats = await testNats({ dataDir, asProgram: true });
const redis = await testRedis();
const lab = await startLab({ nats, redis });
const { services } = lab;

const events = join(dataDir, "jetstream", "jetstream", "$G", "streams", eventStream.name);
const held = Promise.withResolvers<string>();
const reached = Promise.withResolvers<void>();
services.tools.set("count", () => "counted");
services.tools.set("hold", () => {
  reached.resolve();
  return held.promise;
});
const calling = (tool: string) => [{ calls: [{ tool: labTool(tool), with: {} }] }];
const asking = [{ calls: [{ tool: "ask_user", with: { question: "?" } }] }];
services.agents.set("quick", agent("quick", { plan: { steps: calling("count"), answer: "done" } }));
services.agents.set(
  "holding",
  agent("holding", { plan: { steps: calling("hold"), answer: "done" } }),
);
services.agents.set("asking", agent("asking", { plan: { steps: asking, answer: "done" } }));

/** Restarts nats-server with its present events or, if `losing`, with those of the earlier copy. */
async function restart({ losing }: { readonly losing: boolean }): Promise<void> {
  await nats.stop();
  if (losing) {
    await rm(events, { recursive: true });
    await cp(copy, events, { recursive: true });
  } else {
    await cp(events, copy, { recursive: true });
  }
  nats = await testNats({ dataDir, port: nats.port, asProgram: true });
  await until(async () => lab.bus.status === "connected");
}

async function assertGapless(runId: string, last: string): Promise<void> {
  const found = await lab.eventsUntil(runId, last);
  assertNumbered(found);
}

test("drops its note of an event only when the stream has stored one three minutes later, however long its disk is full", async () => {
  const log = createLog({ service: "test", level: "silent" });
  const client = await connectRedis({ url: (await testRedis()).url, name: "test", log });
  after(() => client.disconnect());
  const unwritten = openUnsyncedEvents(client);
  const nowMs = Date.now();
  await unwritten.addRun("cli~written", nowMs - 200_000);
  await unwritten.addRun("cli~in-memory", nowMs);
  const refusal = { code: "x", message: "x", problems: [], messageId: null, streamSequence: 1 };
  const at = new Date(nowMs).toISOString();
  const facts = { runId: "cli~any", subject: "x", caller: "cli", at, ...refusal };
  await publishEvent(lab.bus, runRejected, { owner: "cli", runId: "any" }, facts);
  const wake = () => Promise.resolve(true);
  await findLostEvents({ bus: lab.bus, unwritten, wake, log, now: () => nowMs + 600_000 });
  assert.deepEqual(await client.zrange("yard:runs:left", "0", "-1"), ["cli~in-memory"]);
});

test("the events that nats-server lost of runs that have ended, wait, are in work and were refused are published again, in order [run-goal-8]", async () => {
  const runner = await lab.runnerProcess();
  await lab.command("quick", { runId: "before", input: "x" });
  await lab.eventsUntil("before", "finished");
  await restart({ losing: false });
  await lab.command("quick", { runId: "ended", input: "x" });
  await lab.command("asking", { runId: "waiting", input: "x" });
  await lab.command("holding", { runId: "working", input: "x" });
  await reached.promise;
  await lab.eventsUntil("ended", "finished");
  await lab.eventsUntil("waiting", "waiting");
  await lab.eventsUntil("working", "tool-requested");
  await lab.command("nobody", { runId: "refused", input: "x" });
  await lab.eventsUntil("refused", "rejected");

  await restart({ losing: true });
  await Promise.all([
    assertGapless("ended", "finished"),
    assertGapless("waiting", "waiting"),
    assertGapless("working", "tool-requested"),
    lab.eventsUntil("refused", "rejected"),
  ]);
  assert.equal(
    (await runner.logged("nats-server lost events of runs, which are published again"))["count"],
    2,
  );

  held.resolve("held");
  const callId = "cli~waiting:1:0";
  await call(lab.bus, answerQuestion, { runId: "waiting", callId, answer: "yes" });
  await assertGapless("working", "finished");
  await assertGapless("waiting", "finished");
  await assertGapless("before", "finished");
  assert.equal(await lab.stored("yard.evt.run.cli.before.finished"), 1, "it was not lost");
  assert.equal(await lab.stored("yard.evt.run.cli.ended.finished"), 1);
  assert.equal(await lab.stored("yard.evt.run.cli.refused.rejected"), 1);
});
