import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { getRun, listDeadRuns, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, answering } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const redis = await connectRedis({
  url: lab.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => {
  redis.disconnect();
});
await lab.runner({}, { runSweepMs: 500 });
services.agents.set("plain", answering("plain", "ok"));

test("lists a run whose journal cannot be read with the dead ones, and continues its other work", async () => {
  const wait = { calls: [{ tool: "ask_user", with: { question: "?" } }] };
  services.agents.set("waiter", agent("waiter", { plan: { steps: [wait], answer: "ok" } }));
  for (const [runId, broken] of [
    ["garbled", "{"],
    ["foreign", '{"kind":"from-the-future"}'],
  ] as const) {
    await lab.command("waiter", { runId, input: "x" });
    await lab.eventsUntil(runId, "waiting");
    await redis.lset(`yard:run:{cli~${runId}}:journal`, 1, broken);
    await lab.publish(`yard.cmd.cli.run.cancel.${runId}`, "{}");
    const rejected = await lab.eventsUntil(runId, "rejected");
    assert.equal(rejected.at(-1)?.payload["code"], "journal_corrupt");
    await assert.rejects(call(lab.bus, getRun, { runId }), (error) =>
      isError(error, getRun, "journal_corrupt"),
    );
  }
  await until(async () => (await lab.pendingCommands()) === 0);
  const { runs } = await call(lab.bus, listDeadRuns, {});
  const reasons = new Map(runs.map(({ runId, failure }) => [runId, failure.code]));
  const both = new Map([
    ["cli~garbled", "journal_corrupt"],
    ["cli~foreign", "journal_corrupt"],
  ]);
  assert.deepEqual(reasons, both);
  const listed = await call(lab.bus, listRuns, { status: "dead" });
  assert.equal(listed.runs.length, 2);
  await lab.command("plain", { runId: "fine", input: "x" });
  await lab.eventsUntil("fine", "finished");
});

test("neither a parent nor a session waits for an unreadable run", async () => {
  const ask = { calls: [{ tool: "ask_user", with: { question: "?" } }] };
  const give = { calls: [{ tool: "agent", with: { agent: "waiter", task: "t" } }] };
  services.agents.set("waiter", agent("waiter", { plan: { steps: [ask], answer: "ok" } }));
  services.agents.set(
    "boss",
    agent("boss", { plan: { steps: [give], answer: "{{/results/0/text}}" } }),
  );
  await lab.command("boss", { runId: "boss", input: "x" });
  const begun = await lab.eventsUntil("boss", "child-started");
  await lab.command("waiter", { runId: "said", input: "x", session: "talk" });
  await lab.eventsUntil("said", "waiting");
  await lab.command("plain", { runId: "next", input: "x", session: "talk" });
  await lab.eventsUntil("next", "queued");
  for (const runId of [String(begun.at(-1)?.payload["childRunId"]), "cli~said"]) {
    await lab.eventsUntil(runId, "waiting");
    await redis.lset(`yard:run:{${runId}}:journal`, 0, "{");
    await lab.publish(`yard.cmd.cli.run.cancel.${runId}`, "{}");
    await lab.eventsUntil(runId, "rejected");
  }
  const reported = await lab.eventsUntil("boss", "finished");
  assert.match(String(reported.at(-1)?.payload["output"]), /journal_corrupt/);
  // The sweeper would check it by itself within a minute.
  const due = "yard:sessions:due";
  for (const place of await redis.zrange(due, "0", "-1")) await redis.zadd(due, "0", place);
  await lab.eventsUntil("next", "finished");
});
