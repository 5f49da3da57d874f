import { until } from "@switchyard/local-servers/until";
import { readEvents } from "@switchyard/bus/events";
import type { Delivery } from "@switchyard/bus/delivery";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { proceedSession } from "@switchyard/contracts/agent-runner/sessions";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashDraws } from "../../test-fixtures/crash-draws.ts";
import {
  answerFirst,
  Crash,
  dyingAt,
  hintDelivery,
  leavingAt,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, answering } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { shortWindow } from "../../test-fixtures/short-window.ts";
import { SESSION_SETTINGS } from "../../test-fixtures/session-settings.ts";
import { checkSession } from "./check-session.ts";
import type { SessionParts } from "./session-parts.ts";
import { keptKey } from "../journal/run-storage.ts";
import { slotOf } from "./session-slot.ts";
import { patch } from "./transitions.ts";

/**
 * Sessions whose runners die at drawn points: before or after any request to Redis or to a service. Wherever they die, each
 * message has its answer once, in turn.
 */
const lab = await startLab();
const mortal = await mortalRunners(lab, { holdMs: 0 });
const { redis } = mortal;
lab.services.agents.set("echo", answering("echo", "you said {{/input}}"));
const question = { tool: "ask_user", with: { question: "?" }, as: "said" };
const plan = { steps: [{ calls: [question] }], answer: "{{/input}}: {{/results/said/text}}" };
lab.services.agents.set("patient", agent("patient", { plan }));

let sessions = 0;
let sequence = 0;

test("keeps each message and its answer once, in turn, wherever runners die [run-goal-1]", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(points, async (schedule) => {
      sessions += 1;
      const key = `talk-${sessions}`;
      const deaths = [...schedule];
      const [a, b, c] = ["a", "b", "c"].map((name) => `cli~${key}-${name}`);
      assert.ok(a !== undefined && b !== undefined && c !== undefined);
      await deliver(deaths, startOf("patient", { runId: a, input: "one", session: key }));
      await deliver(deaths, startOf("echo", { runId: b, input: "two", session: key }));
      await deliver(deaths, startOf("echo", { runId: c, input: "three", session: key }));
      // A repeated message is the same message.
      await deliver(deaths, startOf("echo", { runId: b, input: "two", session: key }));
      const parts = mortal.sessions();
      const slot = slotOf("cli", key);
      assert.equal(await answerFirst(mortal.controls, a), "taken");
      await deliver(deaths, hintOf(resumeRun, { runId: a }));
      await untilIdle(parts, slot, deaths);
      const history = await parts.store.history(slot);
      assert.deepEqual(
        history.filter(({ role }) => role !== "tool").map(({ text }) => text),
        ["one", "one: yes", "two", "you said two", "three", "you said three"],
      );
      for (const runId of [a, b, c]) await lab.eventsUntil(runId, "finished");
    }),
    crashDraws(15),
  );
});

test("a run that has its turn comes to its end by its one hint, wherever runners die or have to leave [run-goal-1]", async () => {
  const fate = fc.record({ point: fc.integer({ min: 1, max: 60 }), dies: fc.boolean() });
  const fates = fc.array(fate, { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fates, fates, async (ofSecond, ofThird) => {
      sessions += 1;
      const key = `hinted-${sessions}`;
      const [a, b, c] = ["a", "b", "c"].map((name) => `cli~${key}-${name}`);
      assert.ok(a !== undefined && b !== undefined && c !== undefined);
      await deliver([], startOf("patient", { runId: a, input: "one", session: key }));
      await deliver([], startOf("echo", { runId: b, input: "two", session: key }));
      await deliver([], startOf("echo", { runId: c, input: "three", session: key }));
      assert.equal(await answerFirst(mortal.controls, a), "taken");
      await deliver([], hintOf(resumeRun, { runId: a }));
      const parts = mortal.sessions();
      const slot = slotOf("cli", key);
      const { session } = (await parts.store.read(slot)).record;
      assert.equal(session?.active?.runId, b);
      const { sessionId } = session;
      await deliverUntilDone(hintOf(proceedSession, { sessionId }, { runId: b }), ofSecond);
      // The hint of a run that is over changes nothing for the one that has its turn now.
      await deliverUntilDone(hintOf(proceedSession, { sessionId }, { runId: b }), []);
      const after = (await parts.store.read(slot)).record.session;
      assert.deepEqual([after?.active?.runId, after?.active?.begun], [c, false]);
      await deliverUntilDone(hintOf(proceedSession, { sessionId }, { runId: c }), ofThird);
      const history = await parts.store.history(slot);
      assert.deepEqual(
        history.filter(({ role }) => role !== "tool").map(({ text }) => text),
        ["one", "one: yes", "two", "you said two", "three", "you said three"],
      );
      assert.equal((await parts.store.read(slot)).record.session?.active, null);
    }),
    crashDraws(25),
  );
});

test("a message whose run id is another run's gives its turn to the next one", async () => {
  const key = "squatted";
  const parts = mortal.sessions();
  const slot = slotOf("cli", key);
  await deliver([], startOf("patient", { runId: "squatted-a", input: "one", session: key }));
  await deliver([], startOf("echo", { runId: "squatted-b", input: "two", session: key }));
  await deliver([], startOf("echo", { runId: "squatted-c", input: "three", session: key }));
  await deliver([], startOf("echo", { runId: "squatted-b", input: "of somebody else" }));
  assert.equal(await answerFirst(mortal.controls, "cli~squatted-a"), "taken");
  await deliver([], hintOf(resumeRun, { runId: "cli~squatted-a" }));
  const { sessionId = "" } = (await parts.store.read(slot)).record.session ?? {};
  await deliver([], hintOf(proceedSession, { sessionId }, { runId: "cli~squatted-b" }));
  assert.equal((await parts.store.read(slot)).record.session?.active?.runId, "cli~squatted-c");
  const rejected = (await lab.eventsUntil("squatted-b", "rejected")).at(-1);
  assert.equal(rejected?.payload["code"], "run_id_taken");
});

test("processes the end of a run whose runner died right after it and never returns", async () => {
  const key = "left";
  const parts = mortal.sessions();
  const slot = slotOf("cli", key);
  // The runner dies at each of the points after the end, and its message never comes again.
  for (const point of [1, 2, 3]) {
    const runId = `left-${point}`;
    let isOver = false;
    let passed = 0;
    const pass = async (): Promise<void> => {
      isOver ||= (await redis.hget(`yard:run:{cli~${runId}}:state`, "status")) === "succeeded";
      if (isOver) passed += 1;
      if (passed >= point) throw new Crash("the runner died");
    };
    const dead = mortal.worker(pass).handle(startOf("echo", { runId, input: runId, session: key }));
    await assert.rejects(dead, Crash);
    await checkSession(parts, { slot, owner: "cli" });
    assert.equal((await parts.store.read(slot)).record.session?.active, null);
  }
  assert.deepEqual(
    (await parts.store.history(slot)).map(({ text }) => text),
    [1, 2, 3].flatMap((point) => [`left-${point}`, `you said left-${point}`]),
  );
});

test("a hint without effect is repeated after half a minute, so that a long queue does not grow by it", async () => {
  const nowMs = Date.now();
  const parts = mortal.sessions(() => nowMs);
  const place = { slot: slotOf("cli", "hinted"), owner: "cli" };
  await deliver([], startOf("echo", { runId: "hinted-1", input: "x", session: "hinted" }));
  const active = { runId: "cli~hinted-2", requester: "cli", digest: "", begun: false };
  const turnOf = (turn: typeof active | null) =>
    parts.store.change(place.slot, ({ record }) => {
      assert.ok(record.session !== null);
      return { record: { ...record, session: { ...record.session, active: turn } }, result: null };
    });
  await turnOf(active);
  const pending = await lab.pendingCommands();
  await checkSession(parts, place);
  assert.equal(await lab.pendingCommands(), pending + 1);
  const isDue = async (afterMs: number) =>
    (await parts.index.due(nowMs + afterMs, 1_000)).some(({ slot }) => slot === place.slot);
  assert.deepEqual([await isDue(29_000), await isDue(30_000)], [false, true]);
  await turnOf(null);
});

test("an event of a session that was stored long ago is not stored again", async () => {
  const key = "told";
  const parts = mortal.sessions();
  const slot = slotOf("cli", key);
  await deliver([], startOf("echo", { runId: "told-1", input: "x", session: key }));
  const { session } = (await parts.store.read(slot)).record;
  assert.ok(session !== null);
  const at = new Date().toISOString();
  const stored = await lab.stored(`yard.evt.session.cli.${session.sessionId}.patched`);
  const record = (await parts.store.read(slot)).record;
  const changed = patch(record, session, { changes: { label: "a" }, by: "cli", at });
  const again = patch(changed, session, { changes: { label: "b" }, by: "cli", at });
  await parts.store.change(slot, () => ({ record: again, result: null }));
  await checkSession(parts, { slot, owner: "cli" });
  assert.equal(await lab.stored(`yard.evt.session.cli.${session.sessionId}.patched`), stored + 2);
  // The runner died before it could remove the events that it had sent, and the stream has dropped the message ids.
  const short = await shortWindow(lab.nats);
  await parts.store.change(slot, ({ record: now }) => ({
    record: { ...now, outbox: again.outbox },
    result: null,
  }));
  await checkSession(parts, { slot, owner: "cli" });
  assert.equal(await lab.stored(`yard.evt.session.cli.${session.sessionId}.patched`), stored + 2);
  assert.deepEqual((await parts.store.read(slot)).record.outbox, []);
  await short.end();
});

test("ends a session that is not used, publishes the end and forgets all of it", async () => {
  let nowMs = Date.now();
  const parts = mortal.sessions(() => nowMs);
  const key = "idle";
  const place = { slot: slotOf("cli", key), owner: "cli" };
  await deliver([], startOf("echo", { runId: "idle-1", input: "x", session: key }));
  await checkSession(parts, place);
  const { session } = (await parts.store.read(place.slot)).record;
  assert.notEqual(session, null);
  nowMs += SESSION_SETTINGS.idleMs + 1_000;
  assert.ok((await parts.index.due(nowMs, 100)).some(({ slot }) => slot === place.slot));
  await checkSession(parts, place);
  assert.equal((await parts.store.read(place.slot)).record.session, null);
  assert.deepEqual(await parts.store.history(place.slot), []);
  const listed = await parts.index.page("cli", 0, 100);
  assert.ok(listed.every(({ slot }) => slot !== place.slot));
  const filters = [`yard.evt.session.cli.${session?.sessionId}.ended`];
  for await (const { payload } of readEvents(lab.bus, { filters, from: "beginning" })) {
    assert.equal((payload as { reason: string }).reason, "idle"); // the contract's own field
    break;
  }
  assert.equal(await redis.exists(`yard:session:{${place.slot}}:state`), 0);
});

/** Hands a message to one runner after the other, as the queue does, until one is done with it. */
async function deliver(deaths: number[], delivery: Delivery): Promise<void> {
  for (;;) {
    const worker = mortal.worker(dyingAt(deaths.shift() ?? null));
    try {
      const { outcome } = await worker.handle(delivery);
      if (outcome !== "retry") return;
    } catch (error) {
      assert.ok(error instanceof Crash, String(error));
    }
  }
}

/**
 * Delivers one message until it is acknowledged, as the queue does, and wakes the run that was released with it, or that it
 * could not become, as the sweeper does; each fate applies to one runner.
 */
async function deliverUntilDone(
  delivery: Delivery,
  fates: readonly { readonly point: number; readonly dies: boolean }[],
): Promise<void> {
  const { runId } = proceedSession.payload.parse(delivery.payload);
  let next = delivery;
  for (const { point, dies } of fates) {
    const worker = mortal.worker(dies ? dyingAt(point) : leavingAt(point));
    try {
      const { outcome } = await worker.handle(next);
      if (outcome === "retry") continue;
      const isRunning = (await redis.hget(`yard:run:{${runId}}:state`, "status")) === "running";
      if (!isRunning && (await redis.exists(keptKey(runId))) === 0) return;
      next = hintOf(resumeRun, { runId });
    } catch (error) {
      assert.ok(error instanceof Crash, String(error));
    }
  }
  assert.equal((await mortal.worker(dyingAt(null)).handle(next)).outcome, "done");
}

/** Does the work of the queue and the sweeper: begins the runs that have their turn, until nothing waits. */
async function untilIdle(parts: SessionParts, slot: string, deaths: number[]): Promise<void> {
  await until(async () => {
    const { session } = (await parts.store.read(slot)).record;
    if (session?.active === undefined || session.active === null) return true;
    const { sessionId, active } = session;
    await deliver(deaths, hintOf(proceedSession, { sessionId }, { runId: active.runId }));
    await checkSession(parts, { slot, owner: "cli" });
    return false;
  });
}

function startOf(agentName: string, payload: Record<string, unknown>): Delivery {
  return startDelivery(agentName, payload, { streamSequence: (sequence += 1) });
}

function hintOf(
  contract: typeof resumeRun | typeof proceedSession,
  about: Record<string, string>,
  payload: Record<string, unknown> = {},
): Delivery {
  return hintDelivery(contract, about, { streamSequence: (sequence += 1) }, payload);
}
