import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectionOf } from "@switchyard/bus/connection";
import { commandsOf } from "@switchyard/topology/command-streams";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { listQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { eventOf, send } from "./run-messages.ts";
import { startInstallation } from "./installation.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";
import { testConstants } from "@switchyard/testing/test-constants";

// Resources that team-b uses up to its limits, and the rest that must remain for team-a. Its quota of the queue is filled in
// libs/bus/src/command-quotas, its consumers in event-readers.
const APPROVALS = 5;
const { teamA, teamB, admin } = await startInstallation({
  policy: testConstants({ approvalsPendingPerUser: APPROVALS }),
});

function start(bus: Bus, agent: string, body: { runId: string; input: unknown }): Promise<unknown> {
  return send(bus, `yard.cmd.${bus.user}.run.start.${agent}`, body);
}

async function queuedOfB(): Promise<number> {
  const subject = `$JS.API.STREAM.INFO.${commandsOf(TEAM_B).name}`;
  const answer = await connectionOf(admin).replies.request({
    subject,
    body: "",
    timeoutMs: 10_000,
  });
  return (JSON.parse(answer.string()) as { state: { messages: number } }).state.messages; // in the server's own form
}

test("team-b's approvals that wait have a number, and team-a's call waits for a person all the same", async () => {
  const endOf = (bus: Bus, owner: string, runId: string) =>
    eventOf(bus, `${owner}~${runId}`, ({ name }) =>
      ["waiting", "finished", "failed"].includes(name),
    );
  const ids = Array.from({ length: APPROVALS + 1 }, (_, index) => `hold-${index}`);
  for (const runId of ids) {
    await start(teamB, "holder", { runId, input: { line: runId } });
    await endOf(teamB, TEAM_B, runId);
  }
  const states = await Promise.all(
    ids.map(async (runId) => (await call(teamB, getRun, { runId })).run.status),
  );
  assert.equal(states.filter((status) => status === "waiting").length, APPROVALS, String(states));
  await start(teamA, "holder", { runId: "held", input: { line: "of a" } });
  await endOf(teamA, TEAM_A, "held");
  assert.equal((await call(teamA, getRun, { runId: "held" })).run.status, "waiting");
});

test("team-b's waiting questions of a server are limited, and a question to team-a still arrives", async () => {
  const options = { tokens: { server: "eliciting" }, timeoutMs: 300_000 } as const;
  const ask = (bus: Bus, id: string): Promise<string> =>
    call(bus, callTool, { tool: "asks", args: { id } }, options).then(
      ({ text }) => text ?? "",
      () => "refused",
    );
  const asked = Array.from({ length: 12 }, (_, index) => ask(teamB, `b-${index}`));
  assert.equal(await Promise.race(asked), "cancel");
  const questionsOf = async (bus: Bus): Promise<number> =>
    (await call(bus, listQuestions, {})).questions.length;
  await until(
    () => questionsOf(teamB),
    (waiting) => waiting === 8,
  );
  const reported = ask(teamA, "a");
  const isAsked = until(async () => (await questionsOf(teamA)) > 0).then(() => "asked");
  assert.equal(await Promise.race([reported, isAsked]), "asked");
});

test("2,000 queued runs of team-b are all taken, and team-a's run ends long before them", async () => {
  const runs = Array.from({ length: 2_000 }, (_, index) =>
    start(teamB, "echo", { runId: `queued-${index}`, input: "x" }),
  );
  await Promise.all(runs);
  await start(teamA, "echo", { runId: "beside", input: "of a" });
  const reported = await eventOf(teamA, `${TEAM_A}~beside`, ({ name }) => name === "finished");
  assert.equal(reported["output"], "of a");
  const left = await queuedOfB();
  assert.ok(left > 1_000, `team-b had ${left} left`);
});
