import { call } from "@switchyard/bus/call";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { isError } from "@switchyard/contracts/errors";
import { Plan } from "@switchyard/contracts/agent-runner/plan";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { answering, connectAs } from "../../test-fixtures/fake-services.ts";
import { sequenceOf, startLab } from "../../test-fixtures/runner-lab.ts";
import { openRunIndex } from "./run-index.ts";
import { openRunStore } from "./run-store.ts";

/** Runs of versions before 0.2, whose ids have no owner. */

const lab = await startLab();
const redis = await connectRedis({
  url: lab.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
const teamA = await connectAs(lab.nats, "team-a");
const teamB = await connectAs(lab.nats, "team-b");
after(async () => {
  await teamA.close();
  await teamB.close();
  redis.disconnect();
});

test("a run without an owner in its id stays its requester's, and is completed once", async () => {
  await storeOldRun("old");
  lab.services.agents.set("plain", answering("plain", "of a new run"));
  await lab.runner();
  for (const bus of [teamA, lab.bus])
    assert.equal((await call(bus, getRun, { runId: "old" })).run.runId, "old");
  for (const runId of ["old", "team-a~old"])
    await assert.rejects(call(teamB, getRun, { runId }), (error) =>
      isError(error, getRun, "unknown_run"),
    );
  assert.deepEqual(await listedFor(teamA), ["old"]);
  assert.deepEqual(await listedFor(teamB), []);

  for (const _ of [1, 2])
    await lab.publish("yard.cmd.team-a.run.start.plain", '{"runId":"old","input":"x"}');
  // The same name of another owner is another run.
  await lab.publish("yard.cmd.team-b.run.start.plain", '{"runId":"old","input":"x"}');
  const events = await lab.eventsUntil("team-a~old", "finished");
  assert.equal(events.at(-1)?.payload["output"], "of the old run");
  assert.ok(events.every(({ payload }) => payload["runId"] === "old"));
  const other = await lab.eventsUntil("team-b~old", "finished");
  assert.equal(other.at(-1)?.payload["output"], "of a new run");
  await until(async () => (await lab.pendingCommands()) === 0);
  assert.deepEqual(
    sequenceOf(await lab.eventsUntil("team-a~old", "finished")),
    events.map((_, index) => index + 1),
  );
  assert.deepEqual(await redis.keys("yard:run:{team-a~old}:*"), []);
  assert.deepEqual(await listedFor(teamA), ["old"]);
});

/** Stores the keys that a runner of such a version left when it died. */
async function storeOldRun(runId: string): Promise<void> {
  const store = openRunStore(redis, { holdMs: 0 });
  const asked = { input: "x" };
  const requester = "team-a";
  const at = new Date().toISOString(); // the run's time limit counts from here
  const started = {
    ...startedEntry({ runId, requester, at, agent: "plain" }),
    plan: Plan.parse({ steps: [], answer: "of the old run" }),
  };
  const commandDigest = canonicalDigest({ agent: "plain", requester, asked });
  await store.claim({ runId, commandDigest, delivery: "0", started });
  await openRunIndex(redis, store).add(runId, at);
}

async function listedFor(bus: typeof teamA): Promise<string[]> {
  const { runs } = await call(bus, listRuns, {});
  return runs.map(({ runId }) => runId);
}
