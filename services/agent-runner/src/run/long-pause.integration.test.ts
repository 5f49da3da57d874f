import assert from "node:assert/strict";
import { test } from "node:test";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { dyingAt, mortalRunners, startDelivery } from "../../test-fixtures/mortal-runners.ts";
import { agent } from "../../test-fixtures/fake-services.ts";
import { sequenceOf, startLab } from "../../test-fixtures/runner-lab.ts";
import { openRunStore } from "../journal/run-store.ts";
import { openProviderLimiter } from "../model/provider-limiter.ts";
import { createModelRegistry } from "../model/model-registry.ts";
import { ModelsConfig } from "../model/models-file.ts";

const lab = await startLab();
const server = await startModelServer();
const provider = { type: "openai-compatible", baseURL: `${server.url}/v1` };
const models = createModelRegistry(ModelsConfig.parse({ providers: { local: provider } }), {});
const mortal = await mortalRunners(lab, { holdMs: 0, models });
const limiter = openProviderLimiter(mortal.redis);
const store = openRunStore(mortal.redis, { holdMs: 0 });

test("a run that its provider keeps waiting is retried rarely, and its journal does not grow by it", async () => {
  for (let n = 0; n < 60; n += 1) lab.services.tools.set(`tool${n}`, () => "x");
  lab.services.agents.set("waiting", agent("waiting", { model: "local/m" }));
  const scope = await models.scopeOf("local/m");
  assert.ok(scope !== null);
  await limiter.pause(scope, 3_600_000);
  const deliver = (deliveryCount: number) => {
    const payload = { runId: "long-pause", input: "x", limits: { timeoutMs: 86_400_000 } };
    const place = { streamSequence: 1, deliveryCount };
    return mortal.worker(dyingAt(null)).handle(startDelivery("waiting", payload, place));
  };
  for (let delivery = 1; delivery <= 6; delivery += 1) {
    const outcome = await deliver(delivery);
    assert.equal(outcome.outcome, "done");
    const restMs = await restOf("cli~long-pause");
    assert.ok(restMs > 200_000 && restMs < 400_000, String(restMs));
  }
  const kinds = (await store.load("cli~long-pause")).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["started", "tools-left-out", "resumed"]);

  await mortal.redis.del(`yard:limit:{${scope.key}}`);
  server.answer({ text: ["at last"] });
  assert.equal((await deliver(7)).outcome, "done");
  const events = await lab.eventsUntil("long-pause", "finished");
  assert.deepEqual(sequenceOf(events), [1, 2, 3, 4]);
  assert.equal(server.requests.length, 1);
});

test("a run is not suspended beyond its time limit", async () => {
  const scope = await models.scopeOf("local/m");
  assert.ok(scope !== null);
  await limiter.pause(scope, 3_600_000);
  const payload = { runId: "short", input: "x", limits: { timeoutMs: 70_000 } };
  const delivery = startDelivery("waiting", payload, { streamSequence: 2 });
  const outcome = await mortal.worker(dyingAt(null)).handle(delivery);
  assert.equal(outcome.outcome, "done");
  assert.ok((await restOf("short")) < 1.25 * 70_000);
});

/** The time in ms for which the sweeper leaves a run alone. */
async function restOf(runId: string): Promise<number> {
  return Number(await mortal.redis.zscore("yard:runs:parked", runId)) - Date.now();
}
