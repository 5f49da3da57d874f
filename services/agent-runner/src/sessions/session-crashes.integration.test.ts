import { readEvents } from "@switchyard/bus/events";
import type { Delivery } from "@switchyard/bus/consume";
import { resumeRun } from "@switchyard/contracts/run-commands";
import { proceedSession } from "@switchyard/contracts/sessions";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashDraws } from "../../test-fixtures/crash-draws.ts";
import {
  answerFirst,
  Crash,
  dyingAt,
  hintDelivery,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, answering } from "../../test-fixtures/peers.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { SESSION_SETTINGS } from "../../test-fixtures/session-settings.ts";
import { lookAtSession } from "./look-at-session.ts";
import type { SessionDesk } from "./session-desk.ts";
import { slotOf } from "./session-slot.ts";

/**
 * Sessions whose runners die at drawn points: before or after any request to Redis or to a service. Whatever the points
 * are, each message has its answer once, in turn.
 */
const lab = await startLab();
const mortal = await mortalRunners(lab, { holdMs: 0 });
const { redis } = mortal;
lab.peers.agents.set("echo", answering("echo", "you said {{/input}}"));
const question = { tool: "ask_user", with: { question: "?" }, as: "said" };
const plan = { steps: [{ calls: [question] }], answer: "{{/input}}: {{/results/said/text}}" };
lab.peers.agents.set("patient", agent("patient", { plan }));

let sessions = 0;
let sequence = 0;

test("keeps each message and its answer once, in turn, wherever runners die [G1]", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(points, async (schedule) => {
      sessions += 1;
      const key = `talk-${sessions}`;
      const deaths = [...schedule];
      const [a, b, c] = ["a", "b", "c"].map((name) => `${key}-${name}`);
      assert.ok(a !== undefined && b !== undefined && c !== undefined);
      await deliver(deaths, startOf("patient", { runId: a, input: "one", session: key }));
      await deliver(deaths, startOf("echo", { runId: b, input: "two", session: key }));
      await deliver(deaths, startOf("echo", { runId: c, input: "three", session: key }));
      // A message that comes again is no other one.
      await deliver(deaths, startOf("echo", { runId: b, input: "two", session: key }));
      const desk = mortal.desk();
      const slot = slotOf("cli", key);
      assert.equal(await answerFirst(mortal.controls, a), "taken");
      await deliver(deaths, hintOf(resumeRun, { runId: a }));
      await untilIdle(desk, slot, deaths);
      const history = await desk.store.history(slot);
      assert.deepEqual(
        history.filter(({ role }) => role !== "tool").map(({ text }) => text),
        ["one", "one: yes", "two", "you said two", "three", "you said three"],
      );
      for (const runId of [a, b, c]) await lab.eventsUntil(runId, "finished");
    }),
    crashDraws(15),
  );
});

test("takes up what is left when a runner died for good right after the end of its run", async () => {
  const key = "left";
  const desk = mortal.desk();
  const slot = slotOf("cli", key);
  // It dies at each of the points behind the end, and its message never comes again.
  for (const point of [1, 2, 3]) {
    const runId = `left-${point}`;
    let isOver = false;
    let passed = 0;
    const pass = async (): Promise<void> => {
      isOver ||= (await redis.hget(`yard:run:{${runId}}:state`, "status")) === "succeeded";
      if (isOver) passed += 1;
      if (passed >= point) throw new Crash("the runner died");
    };
    const dead = mortal.worker(pass).handle(startOf("echo", { runId, input: runId, session: key }));
    await assert.rejects(dead, Crash);
    await lookAtSession(desk, { slot, owner: "cli" });
    assert.equal((await desk.store.read(slot)).record.session?.active, null);
  }
  assert.deepEqual(
    (await desk.store.history(slot)).map(({ text }) => text),
    [1, 2, 3].flatMap((point) => [`left-${point}`, `you said left-${point}`]),
  );
});

test("ends a session that nobody uses, tells of it and forgets all of it", async () => {
  let nowMs = Date.now();
  const desk = mortal.desk(() => nowMs);
  const key = "idle";
  const place = { slot: slotOf("cli", key), owner: "cli" };
  await deliver([], startOf("echo", { runId: "idle-1", input: "x", session: key }));
  await lookAtSession(desk, place);
  const { session } = (await desk.store.read(place.slot)).record;
  assert.notEqual(session, null);
  nowMs += SESSION_SETTINGS.idleMs + 1_000;
  assert.ok((await desk.index.due(nowMs, 100)).some(({ slot }) => slot === place.slot));
  await lookAtSession(desk, place);
  assert.equal((await desk.store.read(place.slot)).record.session, null);
  assert.deepEqual(await desk.store.history(place.slot), []);
  const listed = await desk.index.page("cli", 0, 100);
  assert.ok(listed.every(({ slot }) => slot !== place.slot));
  const filters = [`yard.evt.session.${session?.sessionId}.ended`];
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

/** What the queue and the sweeper do: begin what has its turn, until nothing waits. */
async function untilIdle(desk: SessionDesk, slot: string, deaths: number[]): Promise<void> {
  for (;;) {
    const { session } = (await desk.store.read(slot)).record;
    if (session?.active === undefined || session.active === null) return;
    await deliver(deaths, hintOf(proceedSession, { sessionId: session.sessionId }));
    await lookAtSession(desk, { slot, owner: "cli" });
  }
}

function startOf(agentName: string, payload: Record<string, unknown>): Delivery {
  return startDelivery(agentName, payload, { streamSequence: (sequence += 1) });
}

function hintOf(
  contract: typeof resumeRun | typeof proceedSession,
  about: Record<string, string>,
): Delivery {
  return hintDelivery(contract, about, { streamSequence: (sequence += 1) });
}
