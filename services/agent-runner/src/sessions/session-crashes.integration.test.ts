import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import type { Delivery } from "@switchyard/bus/consume";
import { resumeRun } from "@switchyard/contracts/run-commands";
import { startRun } from "@switchyard/contracts/runs";
import { proceedSession } from "@switchyard/contracts/sessions";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import fc from "fast-check";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Registry } from "prom-client";
import { agent, answering } from "../../test-fixtures/peers.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { SESSION_SETTINGS } from "../../test-fixtures/session-settings.ts";
import { openDeadLetters } from "../commands/dead-letters.ts";
import { createRunWorker, type RunWorker } from "../commands/run-worker.ts";
import { openRunIndex } from "../journal/run-index.ts";
import { openRunStore } from "../journal/run-store.ts";
import { openProviderLimiter } from "../limits/provider-limiter.ts";
import { openTeamLedger } from "../limits/team-ledger.ts";
import { NO_TEAM_LIMITS } from "../limits/team-limits-file.ts";
import { createRunnerMetrics } from "../metrics.ts";
import { createModelRegistry } from "../model/model-registry.ts";
import { SCRIPTED_ONLY } from "../model/models-file.ts";
import { createPeers } from "../peers.ts";
import { ActiveRuns } from "../run/active-runs.ts";
import { openRunControls } from "../run/run-controls.ts";
import { openParkedRuns } from "../waits/parked-runs.ts";
import { lookAtSession } from "./look-at-session.ts";
import { openSessions } from "./open-sessions.ts";
import type { SessionDesk } from "./session-desk.ts";
import { slotOf } from "./session-slot.ts";

/**
 * Sessions whose runners die at drawn points: before or after any request to Redis. Whatever the points
 * are, each message has its answer once, in turn.
 */
const lab = await startLab();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
const bus = await connectBus({ servers: lab.nats.url, user: "runner" });
after(async () => {
  await bus.close();
  redis.disconnect();
});
lab.peers.agents.set("echo", answering("echo", "you said {{/input}}"));
const question = { tool: "ask_user", with: { question: "?" }, as: "said" };
const plan = { steps: [{ calls: [question] }], answer: "{{/input}}: {{/results/said/text}}" };
lab.peers.agents.set("patient", agent("patient", { plan }));

class Crash extends Error {}

let sessions = 0;
let sequence = 0;

test("keeps each message and its answer once, in turn, wherever runners die", async () => {
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
      const desk = openDesk();
      const slot = slotOf("cli", key);
      await answer(a);
      await deliver(deaths, hintOf(resumeRun, { runId: a }));
      await untilIdle(desk, slot, deaths);
      const history = await desk.store.history(slot);
      assert.deepEqual(
        history.filter(({ role }) => role !== "tool").map(({ text }) => text),
        ["one", "one: yes", "two", "you said two", "three", "you said three"],
      );
      for (const runId of [a, b, c]) await lab.eventsUntil(runId, "finished");
    }),
    { numRuns: 15 },
  );
});

test("takes up what is left when a runner died for good right after the end of its run", async () => {
  const key = "left";
  const desk = openDesk();
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
    const dead = newWorker(pass).handle(startOf("echo", { runId, input: runId, session: key }));
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
  const desk = openDesk(() => nowMs);
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
    const point = deaths.shift();
    let passed = 0;
    const pass = async (): Promise<void> => {
      passed += 1;
      if (point !== undefined && passed >= point) throw new Crash("the runner died");
    };
    try {
      const { outcome } = await newWorker(pass).handle(delivery);
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

function openDesk(now: () => number = Date.now): SessionDesk {
  const runs = openRunStore(redis, { holdMs: 0 });
  const controls = openRunControls(redis);
  return openSessions({ bus, log, redis }, { controls, runs, settings: SESSION_SETTINGS, now });
}

/** A runner that calls `pass` before and after each request to Redis; the hold of one that dies is over at once. */
function newWorker(pass: () => Promise<void>): RunWorker {
  const store = dying(openRunStore(redis, { holdMs: 0 }), pass);
  const controls = dying(openRunControls(redis), pass);
  const desk = openDesk();
  return createRunWorker({
    bus,
    store,
    controls,
    parked: dying(openParkedRuns(redis), pass),
    active: new ActiveRuns(),
    index: openRunIndex(redis, store),
    sessions: { ...desk, controls, store: dying(desk.store, pass), index: dying(desk.index, pass) },
    letters: openDeadLetters(redis),
    peers: createPeers(bus),
    models: createModelRegistry(SCRIPTED_ONLY, {}),
    limiter: openProviderLimiter(redis),
    ledger: openTeamLedger(redis, { book: NO_TEAM_LIMITS, now: Date.now }),
    metrics: createRunnerMetrics(new Registry()),
    log,
    maxAttempts: 100,
    defaultTimeoutMs: 60_000,
    onLimit: "fail",
    modelIdleTimeoutMs: 10_000,
    stopping: new AbortController().signal,
    now: Date.now,
    random: () => 0.5,
  });
}

/** The same functions with a boundary before and after each. */
function dying<T extends object>(target: T, pass: () => Promise<void>): T {
  const wrapped = Object.entries(target).map(
    ([name, act]: [string, (...args: unknown[]) => unknown]) => [
      name,
      async (...args: unknown[]) => {
        await pass();
        const result = await act.apply(target, args);
        await pass();
        return result;
      },
    ],
  );
  return Object.fromEntries(wrapped) as T; // the same names with the same functions
}

function startOf(agentName: string, payload: Record<string, unknown>): Delivery {
  const tokens = { caller: "cli", agent: agentName };
  const subject = `yard.cmd.cli.run.start.${agentName}`;
  return { ...newDelivery(), contract: startRun, tokens, payload, caller: "cli", subject };
}

function hintOf(
  contract: typeof resumeRun | typeof proceedSession,
  about: Record<string, string>,
): Delivery {
  const verb = contract === resumeRun ? "resume" : "proceed";
  const subject = `yard.cmd.runner.run.${verb}.${Object.values(about).join()}`;
  const tokens = { caller: "runner", ...about };
  return { ...newDelivery(), contract, tokens, payload: {}, caller: "runner", subject };
}

function newDelivery() {
  sequence += 1;
  return {
    kind: "command" as const,
    streamSequence: sequence,
    deliveryCount: 1,
    messageId: null,
    publishedAt: new Date(),
    correlationId: `c-${sequence}`,
    traceparent: "00-00000000000000000000000000000001-0000000000000001-01",
    signal: new AbortController().signal,
  };
}

/** Answers the question of a run of `patient`. */
async function answer(runId: string): Promise<void> {
  const at = new Date().toISOString();
  const callId = `${runId}:1:0`;
  const resolution = { type: "answer" as const, answer: "yes", by: "cli" };
  const outcome = await openRunControls(redis).tell({
    runId,
    entry: { kind: "wait-resolved", at, callId, resolution },
    by: "cli",
    expected: callId,
    command: null,
  });
  assert.equal(outcome, "taken");
}
