import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { runFinished } from "@switchyard/contracts/agent-runner/run-events";
import { deliveriesOf } from "./read-events.ts";
import type { Subscription } from "./subscription-store.ts";

const event: StoredEvent = {
  subject: "yard.evt.run.team-a.r1.finished",
  contract: runFinished,
  payload: { runId: "team-a~r1", output: "done" },
  sequence: 7,
  time: new Date("2026-01-01T00:00:00Z"),
  correlationId: null,
};

function subscription(changes: Partial<Subscription & Subscription["webhook"]> = {}): Subscription {
  const { owner = "team-a", after = 6, afterMs = event.time.getTime(), ...webhook } = changes;
  return {
    owner,
    after,
    afterMs,
    secret: "whsec_",
    webhook: {
      id: "whk-0123456789abcdef",
      url: "https://example.com/",
      events: ["run.finished"],
      agent: null,
      createdAt: "2026-01-01T00:00:00.000Z",
      status: "enabled",
      reason: null,
      failingSince: null,
      lastError: null,
      ...webhook,
    },
  };
}

const made = (subscriptions: Subscription[], one = event, agent: string | null = "triage") =>
  deliveriesOf(one, subscriptions, { now: 5, agentOf: () => Promise.resolve(agent) });

test("a delivery is named after event and webhook, so that reading an event again creates no second one", async () => {
  const [delivery] = await made([subscription()]);
  assert.deepEqual(await made([subscription()]), [delivery]);
  assert.ok(delivery !== undefined);
  assert.match(delivery.id, /^msg_[0-9a-f]{24}_0123456789abcdef$/);
  assert.deepEqual(JSON.parse(delivery.body), {
    type: "run.finished",
    timestamp: "2026-01-01T00:00:00.000Z",
    data: event.payload,
  });
});

test("an event that is published again after a loss becomes the same delivery, and another one with its number does not", async () => {
  const [delivery] = await made([subscription()]);
  const time = new Date("2026-01-01T00:00:09Z");
  const [repeated] = await made([subscription()], { ...event, sequence: 9, time });
  assert.equal(repeated?.id, delivery?.id);
  const payload = { runId: "team-a~r1", output: "other" };
  const [other] = await made([subscription()], { ...event, time, payload });
  assert.notEqual(other?.id, delivery?.id);
});

test("a sequence number that is reused is after the webhook's creation", async () => {
  const afterMs = event.time.getTime();
  const after = subscription({ after: 9, afterMs });
  assert.deepEqual(await made([after]), []);
  const time = new Date(afterMs + 1);
  assert.equal((await made([after], { ...event, time })).length, 1);
});

test("only the owner's events after the webhook's creation that fit its filter are delivered", async () => {
  const fitting = [{}, { events: ["session.*", "run.*"] }, { events: ["*"] }, { agent: "triage" }];
  for (const changes of fitting)
    assert.equal((await made([subscription(changes)])).length, 1, JSON.stringify(changes));
  const others: Parameters<typeof subscription>[0][] = [
    { owner: "team-b" },
    { after: 7 },
    { events: ["run"] },
    { events: ["run.failed"] },
    { agent: "other" },
    { status: "disabled" },
  ];
  for (const changes of others)
    assert.deepEqual(await made([subscription(changes)]), [], JSON.stringify(changes));
  assert.deepEqual(await made([subscription({ agent: "triage" })], event, null), []);
  assert.deepEqual(await made([subscription()], { ...event, contract: null }), []);
});

test("a large event is delivered without its data", async () => {
  const payload = { runId: "team-a~r1", output: "x".repeat(70_000) };
  const [delivery] = await made([subscription()], { ...event, payload });
  assert.deepEqual(JSON.parse(delivery?.body ?? ""), {
    type: "run.finished",
    timestamp: "2026-01-01T00:00:00.000Z",
    data: null,
    truncated: true,
    owner: "team-a",
    runId: "r1",
  });
});
