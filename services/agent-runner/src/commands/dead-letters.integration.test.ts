import { call } from "@switchyard/bus/call";
import { listDeadRuns } from "@switchyard/contracts/runs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, answering, labTool } from "../../test-fixtures/peers.ts";
import type { RunnerProcess } from "../../test-fixtures/runner-process.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { peers } = lab;
let runner: Promise<RunnerProcess>;
const env = { YARD_RUN_MAX_ATTEMPTS: "1" };
const kill = async (): Promise<void> => {
  const current = await runner;
  current.kill("SIGKILL");
  await current.exited;
};
const bombs = { armed: true };
peers.tools.set("bomb", async (_args, { fail }) => {
  if (!bombs.armed) return "harmless";
  await kill();
  throw fail.server_down("gone", { server: "lab", status: "error", lastError: null });
});
const plan = { steps: [{ calls: [{ tool: labTool("bomb"), with: {} }] }], answer: "survived" };
peers.agents.set("bomber", agent("bomber", { plan }));

test("takes runs and commands of which runner processes die off the queue, with the reason", async () => {
  // The agent's definition is asked for before there is a run that could count its runners.
  peers.hooks.getAgent = async (name) => {
    if (name === "deadly" && bombs.armed) await kill();
  };
  peers.agents.set("deadly", answering("deadly", "reached"));
  runner = lab.runner(env);
  await runner;
  await lab.command("bomber", { runId: "bombed", input: "x" });
  // The next runner gets the run when the hold of its predecessor is over.
  let deaths = 0;
  while ((await ending()) === "killed") {
    deaths += 1;
    assert.ok(deaths <= 10, "the run is given up after a few deaths");
    runner = lab.runner(env);
    await runner;
    // The run was begun twice: the runner that this command kills does not count against it.
    if (deaths === 2) await lab.command("deadly", { runId: "unborn", input: "x" });
  }

  assert.equal(deaths, 3);
  const dead = await lab.eventsUntil("bombed", "dead");
  assert.match(JSON.stringify(dead.at(-1)?.payload["failure"]), /too_many_attempts/);
  const rejected = await lab.eventsUntil("unborn", "rejected");
  assert.equal(rejected.at(-1)?.payload["code"], "too_many_attempts");
  const { runs, letters = [] } = await call(lab.bus, listDeadRuns, {});
  assert.deepEqual(
    runs.map(({ runId, failure }) => [runId, failure.code]),
    [["cli~bombed", "too_many_attempts"]],
  );
  assert.deepEqual(
    letters.map(({ runId, subject, caller, failure }) => [runId, subject, caller, failure.code]),
    [["cli~unborn", "yard.cmd.cli.run.start.deadly", "cli", "too_many_attempts"]],
  );

  // What killed them is mended: the run goes on by a retry, the command is sent again.
  bombs.armed = false;
  await lab.publish("yard.cmd.cli.run.retry.bombed", "{}");
  await lab.command("deadly", { runId: "unborn", input: "x" });
  const finished = await lab.eventsUntil("bombed", "finished");
  assert.equal(finished.at(-1)?.payload["output"], "survived");
  await lab.eventsUntil("unborn", "finished");
  const after = await call(lab.bus, listDeadRuns, {});
  assert.deepEqual(after.runs, []);
});

/** Whether the runner was killed or the queue is empty, whichever comes first. */
async function ending(): Promise<"killed" | "done"> {
  const gone = new AbortController();
  const { exited } = await runner;
  void exited.finally(() => gone.abort());
  let isDone = false;
  await until(async () => {
    isDone = (await lab.pendingCommands()) === 0;
    return isDone || gone.signal.aborted;
  });
  return isDone ? "done" : "killed";
}
