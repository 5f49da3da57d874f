import { until } from "@switchyard/local-servers/until";
import { call } from "@switchyard/bus/call";
import {
  getSession,
  sendToSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import type { RunnerProcess } from "../../test-fixtures/runner-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const lab = await startLab();
const { services } = lab;
const plan = { steps: [{ calls: [{ tool: labTool("gate"), with: {} }] }], answer: "{{/input}}!" };
services.agents.set("gated", agent("gated", { plan }));
const MESSAGES = ["one", "two", "three", "four"];

/** Disables the sweeper: the session must continue by itself. */
const NO_SWEEP = testConstants({ runSweepMs: 600_000 });

test("a session with several queued messages answers each of them when its runner is killed in the middle of one [run-goal-2]", async () => {
  const gate = newGate();
  const runners = await Promise.all([lab.runnerProcess(NO_SWEEP), lab.runnerProcess(NO_SWEEP)]);
  await say("killed");
  gate.openFor("cli~killed-one");
  await gate.reached("cli~killed-two");
  const [holder, other] = holderOf(runners, "cli~killed-two");
  holder.kill("SIGKILL");
  await holder.exited;
  gate.open();
  await assertAnswered("killed");
  await stop(other);
});

test("a session with several queued messages answers each of them through a rolling restart [run-goal-6]", async () => {
  const gate = newGate();
  let runner = await lab.runnerProcess({ ...NO_SWEEP, YARD_DRAIN_MS: "500" });
  await say("rolled");
  for (const runId of ["cli~rolled-one", "cli~rolled-two", "cli~rolled-three"]) {
    await gate.reached(runId);
    const next = await lab.runnerProcess({ ...NO_SWEEP, YARD_DRAIN_MS: "500" });
    await stop(runner);
    runner = next;
    gate.openFor(runId);
  }
  gate.open();
  await assertAnswered("rolled");
  await stop(runner);
});

test("a session with several queued messages answers each of them when the policy is slow for one of them", async () => {
  const gate = newGate();
  const runner = await lab.runnerProcess();
  let asked = 0;
  // The first answer arrives after its runner has given up waiting.
  services.hooks.grant = async (runId) => {
    if (runId !== "cli~slow-two") return;
    asked += 1;
    if (asked === 1) await runner.logged("run suspended");
  };
  await say("slow");
  gate.open();
  await assertAnswered("slow");
  assert.equal(asked, 2);
  await stop(runner);
});

/** Sends all messages to one session, each after the one before it was placed. */
async function say(session: string): Promise<void> {
  for (const message of MESSAGES) {
    const runId = `${session}-${message}`;
    await call(lab.bus, sendToSession, { session, agent: "gated", message, runId });
  }
}

async function assertAnswered(session: string): Promise<void> {
  await until(async () => {
    // A request to a runner that was just killed gets no answer.
    const found = await call(lab.bus, getSession, { session }).catch(() => null);
    return found?.session.activeRun === null;
  });
  const { messages } = await call(lab.bus, sessionHistory, { session });
  assert.deepEqual(
    messages.map(({ text }) => text),
    MESSAGES.flatMap((message) => [message, `${message}!`]),
  );
}

/** A tool that answers each run by itself, when the test opens it. */
function newGate() {
  const came = new Set<string>();
  const opened = new Set<string>();
  let isOpen = false;
  services.tools.set("gate", async (_args, { correlationId: runId }) => {
    came.add(runId);
    await until(async () => isOpen || opened.has(runId));
    return "passed";
  });
  return {
    reached: (runId: string) => until(async () => came.has(runId)),
    openFor: (runId: string) => void opened.add(runId),
    open: () => {
      isOpen = true;
    },
  };
}

function holderOf(runners: RunnerProcess[], runId: string): [RunnerProcess, RunnerProcess] {
  const has = ({ lines }: RunnerProcess) => lines.some((line) => line["runId"] === runId);
  const holder = runners.find(has);
  const other = runners.find((runner) => runner !== holder);
  assert.ok(holder !== undefined && other !== undefined, `one of two runners has ${runId}`);
  return [holder, other];
}

async function stop(runner: RunnerProcess): Promise<void> {
  runner.kill("SIGTERM");
  await runner.exited;
}
