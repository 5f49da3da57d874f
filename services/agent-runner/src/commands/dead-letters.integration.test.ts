import { auditBounds, readAudit } from "@switchyard/bus/audit-log";
import { call } from "@switchyard/bus/call";
import { recordsOf } from "@switchyard/contracts/policy/audit-chain";
import { ServiceError } from "@switchyard/contracts/errors";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { listDeadRuns, redriveCommand } from "@switchyard/contracts/agent-runner/runs";
import { readAuditBlock } from "@switchyard/audit/verify-audit";
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import type { RunnerProcess } from "../../test-fixtures/runner-process.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const lab = await startLab();
const { services } = lab;
let runner: Promise<RunnerProcess>;
const env = testConstants({ runMaxAttempts: 1 });
const kill = async (): Promise<void> => {
  const current = await runner;
  current.kill("SIGKILL");
  await current.exited;
};
const bombs = { armed: true };
services.tools.set("bomb", async (_args, { fail }) => {
  if (!bombs.armed) return "harmless";
  await kill();
  throw fail.server_down("gone", { server: "lab", status: "error", lastError: null });
});
const plan = { steps: [{ calls: [{ tool: labTool("bomb"), with: {} }] }], answer: "survived" };
services.agents.set("bomber", agent("bomber", { plan }));

test("removes from the queue the runs and commands that kill runner processes, with the reason", async () => {
  // The runner requests the agent's definition before the run exists, so no run counts these deaths.
  services.hooks.getAgent = async (name) => {
    if (name === "deadly" && bombs.armed) await kill();
  };
  services.agents.set("deadly", answering("deadly", "reached"));
  runner = lab.runnerProcess(env);
  await runner;
  await lab.command("bomber", { runId: "bombed", input: "x" });
  // The next runner gets the run when its predecessor's claim has expired.
  let deaths = 0;
  while ((await ending()) === "killed") {
    deaths += 1;
    assert.ok(deaths <= 10, "the run is given up after a few deaths");
    runner = lab.runnerProcess(env);
    await runner;
    // The run was begun twice: the runner that this command kills does not count against the run.
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

  // The cause of the deaths is fixed: a retry continues the run, and the command is sent again.
  bombs.armed = false;
  await lab.publish("yard.cmd.cli.run.retry.bombed", "{}");
  const finished = await lab.eventsUntil("bombed", "finished");
  assert.equal(finished.at(-1)?.payload["output"], "survived");
  const [letter] = letters;
  assert.equal(letter?.canRedrive, true);
  await redrivesOnce(letter.id ?? "");
  const unborn = await lab.eventsUntil("unborn", "finished");
  assert.deepEqual(
    unborn.map(({ name }) => name),
    ["rejected", "started", "model-responded", "finished"],
  );
  const after = await call(lab.bus, listDeadRuns, {});
  assert.deepEqual([after.runs, after.letters], [[], []]);
  const records = await until(recordedAccess, (all) => all.length >= 2);
  for (const { caller, about } of records) assert.deepEqual([caller, about], ["cli", letter.id]);
  assert.deepEqual(
    new Set(records.map(({ change }) => change)),
    new Set(["called", "answered"]),
    "who had what sent again is on record, and it was not refused",
  );
});

async function recordedAccess() {
  const { first: sequence, last: upTo } = await auditBounds(lab.bus);
  const found = [];
  for await (const { subject, payload } of readAudit(lab.bus, { from: { sequence }, upTo })) {
    const block = readAuditBlock(subject, payload);
    assert.ok(typeof block !== "string");
    for (const record of recordsOf(block)) if (record.kind === "access") found.push(record);
  }
  return found;
}

/** Two concurrent requests and a later one send the command once; another user learns nothing of it. */
async function redrivesOnce(letterId: string): Promise<void> {
  const stranger = await connectBus({ servers: lab.nats.url, user: "team-b" });
  try {
    assert.equal(await refusal(stranger, letterId), "unknown_letter");
    assert.equal(await refusal(lab.bus, `${letterId}0`), "unknown_letter");
    const asked = [1, 2].map(() => call(lab.bus, redriveCommand, { letterId }));
    for (const { runId } of await Promise.all(asked)) assert.equal(runId, "cli~unborn");
    const later = await call(lab.bus, redriveCommand, { letterId });
    assert.deepEqual(later, { runId: "cli~unborn", outcome: "repeated" });
    assert.equal(await refusal(stranger, letterId), "unknown_letter");
  } finally {
    await stranger.close();
  }
}

function refusal(bus: Bus, letterId: string): Promise<string> {
  return call(bus, redriveCommand, { letterId }).then(
    () => "none",
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );
}

/** Resolves when the runner was killed or the queue is empty, whichever comes first. */
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
