import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { approveCall } from "@switchyard/contracts/policy/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { listQuestions as listServerQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { until } from "@switchyard/local-servers/until";
import { eventOf, send } from "./run-messages.ts";
import { startInstallation, type Installation } from "./installation.ts";
import { TEAM_A } from "./reachable.ts";

/** Objects of team-a, by the names that team-b guesses. */
interface Victim {
  /** A run that waits for an answer. */
  readonly asked: { readonly runId: string; readonly callId: string };
  /** A run that has ended. */
  readonly done: string;
  /** A run that waits for a person's decision. */
  readonly held: { readonly runId: string; readonly callId: string; readonly approvalId: string };
  /** A run that started another one. */
  readonly boss: { readonly runId: string; readonly childId: string };
  readonly session: { readonly key: string; readonly id: string; readonly label: string };
  readonly grantId: string;
  /** Id of a completed call of its own. */
  readonly callId: string;
  /** Id of a call of its own in progress. */
  readonly hangingId: string;
  /** A question of an MCP server that works for it. */
  readonly questionId: string;
}

export interface World extends Installation {
  readonly victim: Victim;
}

/** An installation where team-a has one of everything. */
export async function startWorld(): Promise<World> {
  const installation = await startInstallation();
  const victim = await makeVictim(installation);
  return { ...installation, victim };
}

async function makeVictim({ teamA, cli }: Installation): Promise<Victim> {
  const start = (agent: string, runId: string, input: unknown) =>
    send(teamA, `yard.cmd.${TEAM_A}.run.start.${agent}`, { runId, input });
  await start("echo", "done", "secret of team-a");
  await start("asker", "asked", "x");
  await start("holder", "held", { line: "of team-a" });
  await start("boss", "boss", { task: "x" });
  await eventOf(teamA, `${TEAM_A}~done`, ({ name }) => name === "finished");
  const asked = await waitOf(teamA, "asked");
  const held = await waitOf(teamA, "held");
  const child = await eventOf(teamA, `${TEAM_A}~boss`, ({ name }) => name === "child-started");
  await eventOf(teamA, `${TEAM_A}~boss`, ({ name }) => name === "finished");

  const session = { key: "main", label: "home", message: "secret of team-a" };
  const said = await call(teamA, sendToSession, {
    session: session.key,
    message: session.message,
    agent: "echo",
    timeoutSeconds: 20,
  });
  const callId = "call-1";
  const server = { tokens: { server: "counting" }, timeoutMs: 300_000 } as const;
  await call(teamA, callTool, { tool: "big", args: { bytes: 7 }, callId }, server);
  const hangingId = "hang-1";
  void call(teamA, callTool, { tool: "hang", args: {}, callId: hangingId }, server).catch(() => {});
  const asks = { tokens: { server: "eliciting" }, timeoutMs: 300_000 } as const;
  void call(teamA, callTool, { tool: "asks", args: { id: "a" } }, asks).catch(() => {});
  const questions = await until(
    async () => (await call(teamA, listServerQuestions, {})).questions,
    (found) => found.length > 0,
  );
  return {
    asked: { runId: `${TEAM_A}~asked`, callId: asked.callId },
    done: `${TEAM_A}~done`,
    held: {
      runId: `${TEAM_A}~held`,
      callId: held.callId,
      approvalId: held.approvalId ?? assert.fail("no approval is requested"),
    },
    boss: { runId: `${TEAM_A}~boss`, childId: String(child["childRunId"]) },
    session: { key: session.key, id: said.sessionId, label: session.label },
    grantId: await makeGrant(teamA, cli),
    callId,
    hangingId,
    questionId: questions[0]?.id ?? assert.fail("no question"),
  };
}

async function waitOf(bus: Bus, runId: string) {
  const { run } = await until(
    () => call(bus, getRun, { runId }).catch(() => null),
    (reply) => reply?.run.status === "waiting",
  ).then((reply) => reply ?? assert.fail("no run"));
  return run.waits?.[0] ?? assert.fail(`${runId} waits for nothing`);
}

/** A standing approval of team-a: a person approved a call of its own for more of its kind. */
async function makeGrant(teamA: Bus, cli: Bus): Promise<string> {
  const asked = { tool: "write_file", args: { path: "a.txt", content: "x" }, callId: "standing" };
  const error: unknown = await call(teamA, callBuiltin, asked).catch((reason: unknown) => reason);
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.code, "approval_required", error.message);
  const { approvalId: id } = error.data as { approvalId: string }; // as the contract says
  const { grant } = await call(cli, approveCall, { id, scope: "session" });
  return grant?.id ?? assert.fail("no grant");
}
