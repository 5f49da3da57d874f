import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Approval, ApprovalState } from "@switchyard/contracts/policy/approval-record";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { endlessStorage } from "@switchyard/testing/test-storage";
import fc from "fast-check";
import { randomApprovalId } from "./approval-id.ts";
import { createApprovalStore, type ApprovalStore, type NewApproval } from "./approval-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());
const store = createApprovalStore(redis, endlessStorage);

const START = Date.parse("2030-01-01T00:00:00.000Z");
const WAIT_MS = 1_000;
const digest = canonicalDigest("x");

function pending(): NewApproval {
  const approval: Approval = {
    id: randomApprovalId(),
    state: "pending",
    tier: "always",
    risk: "high",
    binding: digest,
    principal: { user: "team-a", agent: "demo", runId: "run-1" },
    caller: "runner",
    tool: builtinToolRef("write_file"),
    pin: null,
    argsDigest: digest,
    rule: "writes",
    why: "writes change files",
    policyDigest: digest,
    callId: null,
    grantTtlMs: null,
    requestedAt: new Date(START).toISOString(),
    expiresAt: new Date(START + WAIT_MS).toISOString(),
    decision: null,
    requirements: [],
    votes: [],
    needed: 1,
    reasonFor: [],
    escalatesAt: null,
    consumedAt: null,
    execution: null,
    resultDigest: null,
  };
  const presentation = {
    args: "{}",
    argsBytes: 2,
    isCut: false,
    hasHiddenCharacters: false,
    hasRedactions: false,
    changes: null,
  };
  return { approval, presentation, comparable: "{}" };
}

const verdict = (state: "approved" | "denied" | "cancelled", by: string, now: number) => ({
  state,
  decision: {
    by,
    authenticated: "nats-user" as const,
    scope: state === "approved" ? ("once" as const) : null,
    reason: null,
    at: new Date(now).toISOString(),
  },
  consumeByMs: state === "approved" ? now + WAIT_MS : null,
  now,
});

test("of fifty parallel attempts one consumes an approval", async () => {
  const stored = pending();
  const { id } = stored.approval;
  await store.create(stored);
  await store.decide(id, verdict("approved", "cli", START));
  const attempts = Array.from({ length: 50 }, () => randomUUID());
  const results = await Promise.all(
    attempts.map((attempt) => store.consume(id, { attempt, now: START + 1 })),
  );
  assert.equal(results.filter((result) => result?.change === "done").length, 1);
  assert.equal((await store.read(id))?.approval.state, "consumed");
  // The attempt that consumed it may repeat its request until it has ended.
  const winner = attempts[results.findIndex((result) => result?.change === "done")] ?? "";
  const repeat = () => store.consume(id, { attempt: winner, now: START + 2 });
  assert.equal((await repeat())?.change, "done");
  await store.settle(id, {
    attempt: winner,
    outcome: "executed",
    resultDigest: digest,
    now: START,
  });
  assert.equal((await repeat())?.change, "none");
});

test("of fifty parallel verdicts one takes effect", async () => {
  const stored = pending();
  const { id } = stored.approval;
  await store.create(stored);
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      store.decide(id, verdict(index % 2 === 0 ? "approved" : "denied", `u${index}`, START)),
    ),
  );
  const winners = results.filter((result) => result?.change === "done");
  assert.equal(winners.length, 1);
  assert.deepEqual((await store.read(id))?.approval.decision, winners[0]?.approval.decision);
});

test("at the very millisecond of its end an approval is expired, whichever caller comes first", async () => {
  for (const end of ["decide", "consume"] as const) {
    const stored = pending();
    const { id } = stored.approval;
    await store.create(stored);
    if (end === "consume") await store.decide(id, verdict("approved", "cli", START));
    const now = START + WAIT_MS;
    const result =
      end === "decide"
        ? await store.decide(id, verdict("approved", "cli", now))
        : await store.consume(id, { attempt: randomUUID(), now });
    assert.equal(result?.change, "expired");
    assert.equal(result?.approval.state, "expired");
  }
});

test("only a void approval makes room for another of its id", async () => {
  for (const isApproved of [false, true]) {
    const stored = pending();
    const { id } = stored.approval;
    const later = { ...stored, approval: { ...stored.approval, why: "asked for anew" } };
    await store.create(stored);
    if (isApproved) await store.decide(id, verdict("approved", "cli", START));
    assert.equal((await store.create(later)).isNew, false);
    const by = verdict("cancelled", "policy", START);
    assert.equal((await store.void(id, by))?.approval.state, "cancelled");
    assert.equal((await store.read(id))?.isVoid, true);
    assert.equal((await store.consume(id, { attempt: randomUUID(), now: START }))?.change, "none");
    const replaced = await Promise.all([store.create(later), store.create(later)]);
    assert.equal(replaced.filter(({ isNew }) => isNew).length, 1);
    const now = await store.read(id);
    assert.deepEqual(
      [now?.approval.state, now?.approval.why, now?.approval.decision, now?.isVoid],
      ["pending", "asked for anew", null, false],
    );
  }
  const denied = pending();
  await store.create(denied);
  await store.decide(denied.approval.id, verdict("denied", "cli", START));
  assert.equal(
    (await store.void(denied.approval.id, verdict("cancelled", "policy", START)))?.change,
    "none",
  );
  assert.equal((await store.create(denied)).stored.approval.state, "denied");
});

/** The model that the store has to agree with. */
interface Model {
  state: ApprovalState;
  expiresAt: number;
  attempt: string | null;
  execution: "unknown" | "executed" | null;
  now: number;
}
interface Real {
  readonly store: ApprovalStore;
  readonly id: string;
}
type Step = fc.AsyncCommand<Model, Real>;

function isOver(model: Model): boolean {
  const isOpen = model.state === "pending" || model.state === "approved";
  return isOpen && model.now >= model.expiresAt;
}

/** Runs one operation on both; `apply` changes the model and returns whether it happened. */
function step(
  name: string,
  run: (real: Real, now: number) => Promise<{ change: string; approval: Approval } | null>,
  apply: (model: Model) => boolean,
): Step {
  return {
    check: () => true,
    toString: () => name,
    async run(model, real) {
      const wasOver = isOver(model);
      if (wasOver) model.state = "expired";
      const isDone = !wasOver && apply(model);
      const result = await run(real, model.now);
      assert.equal(result?.change, wasOver ? "expired" : isDone ? "done" : "none");
      const { state, execution, expiresAt } = result?.approval ?? assert.fail("no approval");
      assert.deepEqual(
        { state, execution, expiresAt: Date.parse(expiresAt) },
        { state: model.state, execution: model.execution, expiresAt: model.expiresAt },
      );
    },
  };
}

const ATTEMPTS = [randomUUID(), randomUUID(), randomUUID()];

const decideStep = fc
  .constantFrom("approved" as const, "denied" as const, "cancelled" as const)
  .map((state) =>
    step(
      state,
      ({ store: real, id }, now) => real.decide(id, verdict(state, "cli", now)),
      (model) => {
        if (model.state !== "pending") return false;
        model.state = state;
        if (state === "approved") model.expiresAt = model.now + WAIT_MS;
        return true;
      },
    ),
  );
const consumeStep = fc.constantFrom(...ATTEMPTS).map((attempt) =>
  step(
    `consume ${attempt.slice(0, 4)}`,
    ({ store: real, id }, now) => real.consume(id, { attempt, now }),
    (model) => {
      const isRepeat = model.attempt === attempt && model.execution === "unknown";
      if (model.state === "consumed" && isRepeat) return true;
      if (model.state !== "approved") return false;
      Object.assign(model, { state: "consumed", attempt, execution: "unknown" });
      return true;
    },
  ),
);
const settleStep = fc
  .tuple(fc.constantFrom(...ATTEMPTS), fc.constantFrom("executed" as const, "not_sent" as const))
  .map(([attempt, outcome]) =>
    step(
      `settle ${outcome} ${attempt.slice(0, 4)}`,
      ({ store: real, id }, now) =>
        real.settle(id, { attempt, outcome, resultDigest: digest, now }),
      (model) => {
        if (model.state !== "consumed" || model.attempt !== attempt) return false;
        if (model.execution !== "unknown") return false;
        if (outcome === "executed") model.execution = "executed";
        else Object.assign(model, { state: "approved", attempt: null, execution: null });
        return true;
      },
    ),
  );
const expireStep = fc.constant(
  step(
    "expire",
    ({ store: real, id }, now) => real.expire(id, now),
    () => false,
  ),
);
const voidStep = fc.constant(
  step(
    "void",
    ({ store: real, id }, now) => real.void(id, verdict("cancelled", "policy", now)),
    (model) => {
      if (model.state !== "pending" && model.state !== "approved") return false;
      model.state = "cancelled";
      return true;
    },
  ),
);
const waitStep = fc.constantFrom(1, 499, 500, 1_000).map((ms): Step => ({
  check: () => true,
  toString: () => `wait ${ms}`,
  run: (model) => {
    model.now += ms;
    return Promise.resolve();
  },
}));

test("any sequence of verdicts, attempts, settlements and time agrees with the model", async () => {
  const steps = [decideStep, consumeStep, consumeStep, settleStep, expireStep, voidStep, waitStep];
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 30 }), async (commands) => {
      const stored = pending();
      await store.create(stored);
      const model: Model = {
        state: "pending",
        expiresAt: START + WAIT_MS,
        attempt: null,
        execution: null,
        now: START,
      };
      const real = { store, id: stored.approval.id };
      await fc.asyncModelRun(() => ({ model, real }), commands);
    }),
    { numRuns: 150 },
  );
});
