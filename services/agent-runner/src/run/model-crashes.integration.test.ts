import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { crashDraws } from "../../test-fixtures/crash-draws.ts";
import { checkJournal } from "../../test-fixtures/journal-checker.ts";
import { startModelServer, type ScriptedRefusal } from "../../test-fixtures/model-server.ts";
import {
  Crash,
  dyingAt,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";
import { SUMMARY_INSTRUCTIONS } from "../core/compaction.ts";
import type { EntryOf, JournalEntry } from "../core/journal-entry.ts";
import { replay } from "../core/replay.ts";
import { openRunStore } from "../journal/run-store.ts";
import { createModelRegistry } from "../model/model-registry.ts";
import { ModelsConfig } from "../model/models-file.ts";

/**
 * Runs whose conversations are summarised and whose model is replaced on the way, and whose runners die at drawn points. A
 * model here derives its next call from the request alone, so a step that was lost, repeated or summarised wrongly leads to
 * other calls than 1, 2, 3, ….
 */
const COUNTS = 9;

const lab = await startLab();
const server = await startModelServer();
const provider = { type: "openai-compatible", baseURL: `${server.url}/v1` };
const models = createModelRegistry(
  ModelsConfig.parse({
    default: "local/first",
    providers: { local: provider },
    models: { "local/first": { fallbacks: ["local/second", "local/third"] } },
  }),
  {},
);
const mortal = await mortalRunners(lab, { holdMs: 0, models });

const tool = labTool("count");
lab.services.tools.set("count", ({ n }) => `counted ${String(n)} ${"x".repeat(300)}`);
const counting = { model: null, tools: [tool], maxSteps: COUNTS + 1 };
lab.services.agents.set("narrow", agent("narrow", { ...counting, contextWindow: 1_500 }));
lab.services.agents.set("wide", agent("wide", counting));

/** The parts of a request in the protocol's own form that matter here. */
interface ChatRequest {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
  }[];
}

/** The number in the latest tool call; 0 when there was none. */
function lastCount({ messages }: ChatRequest): number {
  const calls = messages.flatMap(({ tool_calls: asked = [] }) => asked);
  // This file's model wrote the arguments.
  const counts = calls.map((call) => (JSON.parse(call.function.arguments) as { n: number }).n);
  return Math.max(0, ...counts);
}

function isSummary({ messages }: ChatRequest): boolean {
  return messages[0]?.content === SUMMARY_INSTRUCTIONS;
}

const requests = server.requests as readonly { readonly body: unknown }[];
let refuses: (request: ChatRequest) => ScriptedRefusal | null = () => null;

server.answerBy((body) => {
  const request = body as unknown as ChatRequest; // the SDK wrote it
  const refusal = refuses(request);
  if (refusal !== null) return refusal;
  if (isSummary(request)) return { text: ["SUMMARY of what was counted"] };
  const n = lastCount(request) + 1;
  if (n > COUNTS) return { text: [`counted to ${COUNTS}`] };
  return { calls: [{ id: `c${n}`, name: tool, args: `{"n":${n}}` }] };
});

let runs = 0;

/** Lets runners die one after the other until one survives; returns the journal and the requests to the models. */
async function runThrough(agentName: string, schedule: readonly number[]) {
  runs += 1;
  const runId = `cli~models-${runs}`;
  const before = requests.length;
  let crashes = 0;
  for (const [index, point] of [...schedule, null].entries()) {
    const place = { streamSequence: runs, deliveryCount: index + 1 };
    const delivery = startDelivery(agentName, { runId, input: "count" }, place);
    try {
      const { outcome } = await mortal.worker(dyingAt(point)).handle(delivery);
      assert.equal(outcome, "done");
    } catch (error) {
      assert.ok(error instanceof Crash, String(error));
      crashes += 1;
    }
  }
  const entries = await openRunStore(mortal.redis, { holdMs: 0 }).load(runId);
  checkJournal(entries);
  assert.deepEqual(replay(entries).end, { status: "succeeded", output: `counted to ${COUNTS}` });
  for (let n = 1; n <= COUNTS; n += 1)
    assert.equal(lab.services.executed.get(`${runId}:${n}:0`), 1);
  const events = await lab.eventsUntil(runId, "finished");
  assertNumbered(events);
  const asked = requests.slice(before).map(({ body }) => body as ChatRequest); // the SDK wrote it
  return { runId, entries, events, crashes, asked };
}

function ofKind<K extends JournalEntry["kind"]>(entries: readonly JournalEntry[], kind: K) {
  // The filter guarantees the type.
  return entries.filter((entry) => entry.kind === kind) as EntryOf<K>[];
}

const deaths = fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 5 });

test("summarises each part of a conversation once and continues from the summary, wherever its runners die [run-goal-1]", async () => {
  await fc.assert(
    fc.asyncProperty(deaths, async (schedule) => {
      const { entries, crashes, asked } = await runThrough("narrow", schedule);
      const points = ofKind(entries, "compacted").map(({ upTo }) => upTo);
      assert.ok(points.length >= 2, `${points.length} summaries`);
      assert.deepEqual(
        points,
        [...new Set(points)].toSorted((a, b) => a - b),
      );
      // A call that was in progress is paid again, and nothing else.
      assert.ok(asked.filter(isSummary).length <= points.length + crashes);
      const steps = asked.filter((request) => !isSummary(request));
      assert.ok(steps.length <= COUNTS + 1 + crashes);
      // The first summary was made after this many answers; no later runner repeats a step before it.
      const at = entries.findIndex(({ kind }) => kind === "compacted");
      const answered = ofKind(entries.slice(0, at), "model-responded").length;
      for (const request of steps) {
        const hasSummary = JSON.stringify(request.messages).includes("SUMMARY");
        assert.equal(hasSummary, lastCount(request) >= answered, String(lastCount(request)));
      }
    }),
    crashDraws(12),
  );
});

test("stays with the model that answered when another failed, wherever its runners die [run-goal-1]", async () => {
  const failing = fc.integer({ min: 0, max: COUNTS });
  await fc.assert(
    fc.asyncProperty(deaths, failing, async (schedule, from) => {
      refuses = (request) => {
        const isDown = request.model === "first" && lastCount(request) >= from;
        return isDown ? { status: 400, message: "first is down" } : null;
      };
      const { entries, events, crashes, asked } = await runThrough("wide", schedule);
      const answers = ofKind(entries, "model-responded");
      assert.deepEqual(
        answers.map(({ model }) => model),
        answers.map((_, step) => (step < from ? "local/first" : "local/second")),
      );
      // The choice is made once and journaled with its reason; the next runner does not repeat it.
      const switched = answers.filter(({ passedOver }) => passedOver !== undefined);
      assert.deepEqual(
        switched.map(({ step, passedOver }) => [step, passedOver?.map(({ model }) => model)]),
        [[from + 1, ["local/first"]]],
      );
      assert.match(switched[0]?.passedOver?.[0]?.message ?? "", /first is down/);
      const tried = asked.filter(({ model }) => model === "first");
      assert.ok(tried.every((request) => lastCount(request) <= from));
      assert.ok(tried.length <= from + 1 + crashes);
      assert.ok(asked.every(({ model }) => model !== "third"));
      const reported = events.filter(({ name }) => name === "model-responded");
      assert.equal(reported.filter(({ payload }) => "passedOver" in payload).length, 1);
    }),
    crashDraws(12),
  );
  refuses = () => null;
});

test("summarises with the fallback model, wherever its runners die [run-goal-1]", async () => {
  await fc.assert(
    fc.asyncProperty(deaths, async (schedule) => {
      // The first model fails for the first summary, and for everything after it.
      refuses = (request) => {
        const isDown = request.model === "first" && (isSummary(request) || lastCount(request) > 2);
        return isDown ? { status: 400, message: "first is down" } : null;
      };
      const { entries, crashes, asked } = await runThrough("narrow", schedule);
      const summaries = ofKind(entries, "compacted");
      assert.ok(summaries.length >= 2);
      assert.ok(summaries.every(({ model }) => model === "local/second"));
      const tried = asked.filter(({ model }) => model === "first");
      // The three steps that it answered, and the requests that it refused until another model was chosen.
      assert.ok(tried.length <= 3 + 1 + crashes, `${tried.length} with ${crashes} crashes`);
      const count = ofKind(entries, "model-responded").length;
      assert.equal(count, COUNTS + 1);
    }),
    crashDraws(10),
  );
  refuses = () => null;
});
