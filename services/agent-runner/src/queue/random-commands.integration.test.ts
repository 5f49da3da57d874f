import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

// Commands for one run in any order, against a model of its state. Each is carried out before the next.

const lab = await startLab();
const { services } = lab;
await lab.runner();
services.tools.set("count", () => "counted");
services.agents.set(
  "staged",
  agent("staged", {
    plan: {
      steps: [
        { calls: [{ tool: labTool("count"), with: {} }] },
        { calls: [{ tool: "ask_user", with: { question: "?" } }] },
      ],
      answer: "answered",
    },
  }),
);

/** The run makes one step under its first limits; with raised ones it reaches its question. */
const LOW = 1;
const HIGH = 9;

interface Model {
  status: "none" | "waiting" | "failed" | "cancelled" | "succeeded";
  /** Null: it was never started. A cancel that came before the start ends it at its first moment. */
  maxSteps: number | null;
  onLimit: "fail" | "pause";
  isCancelledEarly: boolean;
  hasCounted: boolean;
  isAsking: boolean;
  isAnswered: boolean;
  /** A cancel is the result of the question: a retry of the run does not prompt again. */
  isGivenUp: boolean;
  ends: number;
  rejected: string[];
}

const unborn = (): Model => ({
  status: "none",
  maxSteps: null,
  onLimit: "fail",
  isCancelledEarly: false,
  hasCounted: false,
  isAsking: false,
  isAnswered: false,
  isGivenUp: false,
  ends: 0,
  rejected: [],
});

function ends(model: Model, status: "failed" | "cancelled" | "succeeded"): void {
  model.status = status;
  model.isGivenUp ||= model.isAsking && status === "cancelled";
  model.isAsking = false;
  model.ends += 1;
}

/** Continues the model's run as far as its limits allow. */
function goesOn(model: Model): void {
  model.hasCounted = true;
  if (model.isAnswered || model.isGivenUp) return ends(model, "succeeded");
  if (model.maxSteps === LOW && model.onLimit === "fail") return ends(model, "failed");
  model.status = "waiting";
  model.isAsking = model.maxSteps === HIGH;
}

const hasEnded = ({ status }: Model): boolean => status !== "none" && status !== "waiting";

type Send = (verb: string, body: object) => Promise<void>;

/** The commands to send, and their effect on the run. */
const ACTIONS = {
  start: startWith("fail"),
  startPausing: startWith("pause"),
  async cancel(model: Model, send: Send) {
    await send("cancel", {});
    if (model.status === "none") model.isCancelledEarly = true;
    else if (model.status === "waiting") ends(model, "cancelled");
  },
  async steer(model: Model, send: Send) {
    await send("steer", { message: "hurry" });
    refuseUnlessWaiting(model);
  },
  async resume(model: Model, send: Send) {
    await send("resume", { limits: { maxSteps: HIGH } });
    if (!refuseUnlessWaiting(model)) return;
    model.maxSteps = HIGH;
    goesOn(model);
  },
  async hint(_model: Model, send: Send) {
    await send("resume", {});
  },
  retry: retryWith({}),
  retryRaised: retryWith({ maxSteps: HIGH }),
} as const;

function startWith(onLimit: Model["onLimit"]) {
  return async (model: Model, send: Send): Promise<void> => {
    await send("start", { input: "x", limits: { maxSteps: LOW, onLimit } });
    if (model.maxSteps !== null) {
      if (model.onLimit !== onLimit) model.rejected.push("run_id_taken");
      return;
    }
    Object.assign(model, { maxSteps: LOW, onLimit });
    if (model.isCancelledEarly) ends(model, "cancelled");
    else goesOn(model);
  };
}

function retryWith(limits: { maxSteps?: number }) {
  return async (model: Model, send: Send): Promise<void> => {
    await send("retry", { limits });
    if (model.status === "none") return void model.rejected.push("unknown_run");
    if (model.status === "waiting") return void model.rejected.push("run_not_ended");
    if (model.status === "succeeded") return void model.rejected.push("run_succeeded");
    model.maxSteps = limits.maxSteps ?? model.maxSteps;
    goesOn(model);
  };
}

function refuseUnlessWaiting(model: Model): boolean {
  if (model.status === "none") model.rejected.push("unknown_run");
  else if (hasEnded(model)) model.rejected.push("run_ended");
  return model.status === "waiting";
}

type Action = keyof typeof ACTIONS | "answer" | "fork";
const actions: readonly Action[] = [...(Object.keys(ACTIONS) as Action[]), "answer", "fork"];

let runs = 0;

async function play(sequence: readonly Action[]): Promise<void> {
  const model = unborn();
  const runId = `random-${(runs += 1)}`;
  const send: Send = (verb, body) =>
    verb === "start"
      ? lab.command("staged", { ...body, runId })
      : lab.publish(`yard.cmd.cli.run.${verb}.${runId}`, JSON.stringify(body));
  for (const [index, action] of sequence.entries()) {
    if (action === "answer") await answer(model, runId);
    else if (action === "fork") await fork(model, runId, `${runId}-fork-${index}`);
    else await ACTIONS[action](model, send);
    await settled();
    assert.equal(await statusOf(runId), model.status, `after ${action}, number ${index + 1}`);
  }
  const events = await eventsOf(runId);
  const numbered = events.filter(({ name }) => name !== "rejected");
  assert.deepEqual(
    numbered.map(({ payload }) => payload["seq"]),
    numbered.map((_, index) => index + 1),
  );
  const ended = numbered.filter(({ name }) => ["failed", "cancelled", "finished"].includes(name));
  assert.equal(ended.length, model.ends, "each life has one end");
  assert.deepEqual(
    events.flatMap(({ name, payload }) => (name === "rejected" ? [payload["code"]] : [])),
    model.rejected,
  );
  assert.equal(services.requested.get(`cli~${runId}:1:0`), model.hasCounted ? 1 : undefined);
}

async function answer(model: Model, runId: string): Promise<void> {
  const asked = call(lab.bus, answerQuestion, { runId, callId: `cli~${runId}:2:0`, answer: "yes" });
  if (model.isAnswered) return assert.equal((await asked).outcome, "answered_before");
  if (!model.isAsking) return assert.rejects(asked);
  await asked;
  model.isAnswered = true;
  goesOn(model);
}

/** A copy is independent, and makes none of the calls that the other run has made. */
async function fork(model: Model, runId: string, newRunId: string): Promise<void> {
  const body = { newRunId, fromStep: 2, limits: { maxSteps: HIGH } };
  await lab.publish(`yard.cmd.cli.run.fork.${runId}`, JSON.stringify(body));
  await settled();
  const [first] = await eventsOf(newRunId);
  if (model.hasCounted) assert.equal(first?.name, "started");
  else
    assert.equal(first?.payload["code"], model.status === "none" ? "unknown_run" : "no_such_step");
  assert.equal(services.requested.get(`cli~${newRunId}:1:0`), undefined);
}

const settled = () => until(async () => (await lab.pendingCommands()) === 0);

async function statusOf(runId: string): Promise<string> {
  const found = await call(lab.bus, getRun, { runId }).catch(() => null);
  return found === null ? "none" : found.run.status;
}

async function eventsOf(runId: string) {
  const found: { name: string; payload: Record<string, unknown> }[] = [];
  const options = { filters: [`yard.evt.run.cli.${runId}.*`], from: "beginning", stopAtEnd: true };
  for await (const { subject, payload } of readEvents(lab.bus, { ...options, from: "beginning" }))
    // Every run event's payload is an object.
    found.push({
      name: subject.split(".").at(-1) ?? "",
      payload: payload as (typeof found)[0]["payload"],
    });
  return found;
}

test("a run behaves like its model, for commands in any order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...actions), { minLength: 4, maxLength: 14 }), play),
    { numRuns: 8, endOnFailure: true, includeErrorInReport: true },
  );
});
