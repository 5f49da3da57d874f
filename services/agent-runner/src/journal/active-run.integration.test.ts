import { connectBus } from "@switchyard/bus/connect";
import { EventRelay } from "@switchyard/bus/event-relay";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { EventPublisher, type RelayedRunEvent } from "./event-publisher.ts";
import { isForeign } from "../core/entry-traits.ts";
import type { EntryOf, JournalEntry } from "../core/journal-entry.ts";
import { replay, startOf } from "../core/replay.ts";
import { JournalCorrupt, openCalls, type RunState } from "../core/run-state.ts";
import { openRunStore } from "./run-store.ts";
import { ActiveRun } from "./active-run.ts";
import { CancelRequested } from "../core/interruption.ts";
import { openRunControls } from "./run-controls.ts";

const AT = "2026-01-01T00:00:01.000Z";
// Before the servers are stopped: hooks run in this order.
after(async () => {
  await bus.close();
  redis.disconnect();
});
const nats = await testNats();
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
const bus = await connectBus({ servers: nats.url, user: "runner" });
const relay = new EventRelay<RelayedRunEvent>(bus, {
  isOutage: () => false,
  onTrouble: () => {},
  onRecovered: () => {},
});
const store = openRunStore(redis, { holdMs: 60_000 });
const controls = openRunControls(redis);

test("entries that are recorded in one turn of the event loop are one write, in the order of the calls", async () => {
  const { run, writes } = await openRun();
  await Promise.all([run.record(resumed(2)), run.record(resumed(3)), run.record(resumed(4))]);
  assert.deepEqual(writes, [3]);
  await run.record(answer, finished);
  assert.deepEqual(writes, [3, 2]);
  const journal = await store.load(run.hold.runId);
  assert.deepEqual(journal.slice(1), [resumed(2), resumed(3), resumed(4), answer, finished]);
  assert.deepEqual(run.state, replay(journal));
});

test("an end that was to be written with its answer is decided again when a message came first", async () => {
  const { run, steer } = await openRun();
  await steer();
  await run.record(answer, finished);
  const kinds = (await store.load(run.hold.runId)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["started", "steered", "model-responded"]);
  assert.equal(run.state.end, null);
});

test("entries that follow from others are written with them, and decided by the state before", async () => {
  const { run, writes } = await openRun();
  const endOf = ({ turns, messages }: RunState): JournalEntry[] =>
    turns.length > 0 && messages.length === 0 ? [finished] : [];
  await Promise.all([run.recordWith([resumed(2)], endOf), run.recordWith([answer], endOf)]);
  assert.deepEqual(writes, [3]);
  const journal = await store.load(run.hold.runId);
  assert.deepEqual(journal.slice(1), [resumed(2), answer, finished]);
  assert.deepEqual(run.state, replay(journal));

  const other = await openRun();
  await other.steer();
  await other.run.recordWith([answer], endOf);
  const kinds = (await store.load(other.run.hold.runId)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["started", "steered", "model-responded"]);
  assert.equal(other.run.state.end, null);
});

test("an end that is decided in its turn sees the state that was just read, and may be dropped", async () => {
  const { run, steer, writes } = await openRun();
  await run.record(answer);
  await steer();
  const looked = run.lookForNews();
  await run.recordWith([], ({ messages }) => (messages.length === 0 ? [finished] : []));
  await looked;
  assert.deepEqual(writes, [1]);
  const kinds = (await store.load(run.hold.runId)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["started", "model-responded", "steered"]);
  await run.recordWith([], () => [finished]);
  assert.deepEqual(writes, [1, 1]);
});

test("an answer and its end are not written after a request to cancel", async () => {
  const { run } = await openRun();
  const { runId } = run.hold;
  await controls.cancel({ runId, by: "cli", at: AT, reason: null, command: null });
  await assert.rejects(run.record(answer, finished), CancelRequested);
  assert.equal(run.cancelSignal.aborted, true);
  const kinds = (await store.load(runId)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["started", "cancel-requested"]);
});

test("a call that was to be sent and was not is noted as unsent when the run is released, also after a request to cancel", async () => {
  const { run } = await openRun();
  const { runId } = run.hold;
  const callIds = [0, 1, 2].map((index) => `${runId}:1:${index}`);
  const [first = "", second = "", third = ""] = callIds;
  const content = callIds.map((callId) => {
    return { type: "tool-call" as const, callId, toolCallId: callId, tool: "read", input: {} };
  });
  const dispatched = [first, second].map((callId) => {
    return { kind: "tool-dispatched" as const, at: AT, callId };
  });
  await run.record({ ...answer, content, finishReason: "tool-calls" }, ...dispatched);
  run.noteSent(first);
  await controls.cancel({ runId, by: "cli", at: AT, reason: null, command: null });
  await run.noteUnsent();
  await run.noteUnsent();
  const journal = await store.load(runId);
  assert.deepEqual(journal.slice(4), [
    { kind: "cancel-requested", at: AT, by: "cli", reason: null },
    { kind: "tool-unsent", at: AT, callId: second },
  ]);
  assert.deepEqual(
    openCalls(replay(journal)).map(({ part, dispatched: isSent }) => [part.callId, isSent]),
    [
      [first, true],
      [second, false],
      [third, false],
    ],
  );
});

test("a call that was sent before the run was taken over is never noted as unsent", async () => {
  const { run, again } = await openRun();
  const callId = `${run.hold.runId}:1:0`;
  const content = [
    { type: "tool-call" as const, callId, toolCallId: callId, tool: "t", input: {} },
  ];
  const asked = { ...answer, content, finishReason: "tool-calls" as const };
  await run.record(asked, { kind: "tool-dispatched", at: AT, callId });
  const successor = await again();
  await successor.noteUnsent();
  const journal = await store.load(run.hold.runId);
  assert.equal(journal.at(-1)?.kind, "tool-dispatched");
});

test("entries that are recorded together are written together or not at all", async () => {
  const { run } = await openRun();
  const { runId } = run.hold;
  const second = run.record(answer, { ...answer, step: 7 });
  const third = run.record(resumed(2));
  await assert.rejects(second, JournalCorrupt);
  await third;
  assert.deepEqual((await store.load(runId)).slice(1), [resumed(2)]);
});

test("the state is that of the journal, whichever writer adds entries in between", async () => {
  const step = fc.record({
    together: fc.integer({ min: 1, max: 60 }),
    isAwaited: fc.boolean(),
    isSteered: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const { run, steer } = await openRun();
      const wanted: JournalEntry[] = [];
      const recorded: Promise<unknown>[] = [];
      for (const { together, isAwaited, isSteered } of steps) {
        const appending = isSteered ? steer() : Promise.resolve();
        for (let count = 0; count < together; count += 1) {
          const entry = resumed(wanted.length + 2);
          wanted.push(entry);
          recorded.push(run.record(entry));
        }
        await appending;
        if (isAwaited) await Promise.all(recorded);
      }
      await Promise.all(recorded);
      await run.lookForNews();
      const journal = await store.load(run.hold.runId);
      assert.deepEqual(run.state, replay(journal));
      assert.deepEqual(
        journal.slice(1).filter((entry) => !isForeign(entry)),
        wanted,
      );
      const steered = steps.filter(({ isSteered }) => isSteered);
      assert.equal(run.state.messages.length, steered.length);
    }),
    { numRuns: 40 },
  );
});

let runs = 0;

/** Opens a run that this test holds; `writes` lists how many entries each write had. */
async function openRun() {
  runs += 1;
  const runId = `active-${runs}`;
  const started = startedEntry({ runId });
  const claimed = await store.claim({ runId, commandDigest: "d", delivery: "1", started });
  assert.ok(claimed.outcome === "claimed");
  const { hold } = claimed;
  const { signal } = new AbortController();
  const writes: number[] = [];
  const counting: typeof store = {
    ...store,
    append(held, entries, ...rest) {
      writes.push(entries.length);
      return store.append(held, entries, ...rest);
    },
  };
  // Every event counts as published: this is about the journal.
  const publisher = new EventPublisher({
    relay,
    runId,
    requester: started.requester,
    published: Number.MAX_SAFE_INTEGER,
    isNew: false,
    lastSeq: () => Promise.resolve(0),
    lostBehind: () => Promise.resolve([]),
    server: () => null,
    signal,
  });
  const state = startOf(started);
  const run = new ActiveRun({
    hold,
    state,
    store: counting,
    publisher,
    signal,
    lose: () => {},
    now: () => Date.parse(AT),
  });
  const steer = (): Promise<unknown> => {
    const entry: JournalEntry = { kind: "steered", at: AT, by: "cli", message: "and more" };
    return controls.append({ runId, entry, by: "cli", expected: null, command: null });
  };
  /** Opens the run as another replica does that finds it in the store. */
  const again = async (): Promise<ActiveRun> =>
    new ActiveRun({
      hold,
      state: replay(await store.load(runId)),
      store,
      publisher,
      signal,
      lose: () => {},
      now: () => Date.parse(AT),
    });
  return { run, writes, steer, again };
}

function resumed(attempt: number): JournalEntry {
  return { kind: "resumed", at: AT, attempt, journalEntries: 1 };
}

const answer: EntryOf<"model-responded"> = {
  kind: "model-responded",
  at: AT,
  step: 1,
  content: [{ type: "text", text: "hello" }],
  usage: { inputTokens: 1, outputTokens: 1 },
  finishReason: "stop",
  servedModel: "m",
  durationMs: 0,
};

const finished: JournalEntry = { kind: "finished", at: AT, output: "hello" };
