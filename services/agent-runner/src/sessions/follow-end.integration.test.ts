import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { isError } from "@switchyard/contracts/errors";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import type { RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import {
  listSessions,
  sendToSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { agent, answering } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const lab = await startLab();
const { services } = lab;
services.agents.set("echo", answering("echo", "you said {{/input}}"));
services.agents.set("told", answering("told", "Noted."));
services.agents.set("done", answering("done", "REPLY_SKIP"));
services.agents.set("broken", agent("broken", { model: "scripted/plan", plan: null }));
const env = testConstants({ runSweepMs: 200 });
const first = await lab.runnerProcess(env);
// The toolbox sends messages in the name of its caller; without a user token that is itself.
const toolbox = await connectBus({ servers: lab.nats.url, user: "toolbox" });
const channels = await connectBus({ servers: lab.nats.url, user: "channels" });
const sent: { to: unknown; text: string; key: string | undefined; owner: string | undefined }[] =
  [];
let isAway = false;
const service = serve(channels, {
  name: "channels",
  version: "0.0.0",
  description: "test channels",
  onFault: ({ error }) => {
    throw error;
  },
});
service.handle(
  sendChannelMessage,
  ({ to, text, idempotencyKey: key, onBehalfOf: owner }, { fail }) => {
    if (isAway) throw fail.store_unavailable("Redis is away", { cause: "test" });
    // The same key is the same message.
    if (!sent.some((known) => known.key === key)) sent.push({ to, text, key, owner });
    const address = { ...to, accountId: to.accountId ?? "default" };
    return {
      kind: "send" as const,
      handledBy: "loopback",
      dryRun: false,
      address,
      sendId: `snd-${"0".repeat(32)}`,
      messageIds: ["1"],
      sentAt: new Date().toISOString(),
      degraded: [],
      replayed: false,
    };
  },
);
after(async () => {
  await toolbox.close();
  await channels.drain(2_000);
});

const chat = { channel: "loopback", target: { kind: "user", id: "ann" } } as const;
const historyOf = async (session: string) =>
  (await call(toolbox, sessionHistory, { session })).messages.map(({ role, text }) => ({
    role,
    text,
  }));
const linesOf = (session: string, count: number) =>
  until(
    () => historyOf(session).catch(() => []),
    ({ length }) => length >= count,
  );
const send = (session: string, agentName: string, followUp: RunFollowUp, message = "go") =>
  call(toolbox, sendToSession, { session, agent: agentName, message, followUp });

test("the result of a task is announced in the session that started it, and that session's answer in its chat [F9] [complaint-3]", async () => {
  const to = { session: "desk", agent: "told" };
  const followUp = { kind: "announce", to, label: "look", endsSession: true, chat } as const;
  const { runId, sessionKey } = await send("agent:echo:subagent:1", "echo", followUp, "look");
  const [announced, answer] = await linesOf("desk", 2);
  assert.match(
    announced?.text ?? "",
    /has ended: look\.[^]*completed successfully[^]*you said look/,
  );
  assert.equal(answer?.text, "Noted.");
  await until(() => sent.length === 1);
  assert.deepEqual([sent[0]?.text, sent[0]?.owner], ["Noted.", "toolbox"]);
  assert.deepEqual(sent[0]?.to, chat);
  // Its session is not needed any more, and the labels of the run show its origin.
  await until(async () => {
    const { sessions } = await call(toolbox, listSessions, { search: sessionKey });
    return sessions.length === 0;
  });
  const { run } = await call(toolbox, getRun, { runId });
  assert.deepEqual(run.labels, {
    provenance: "inter_session",
    sourceSession: "desk",
    sourceTool: "sessions_spawn",
  });
});

test("a run that another run begins in a session, and the run that its answer begins, keep the rights of the first [F1] [F9]", async () => {
  const origin = { channel: "slack", group: "room", owner: false, depth: 1, dictatedBy: "cli" };
  const sender = { tools: [["read_*", "!read_file"]], approval: "always" as const, origin };
  const to = { session: "narrow-desk", agent: "told" };
  const followUp = { kind: "announce", to, label: null, endsSession: false } as const;
  const request = { session: "narrow", agent: "echo", message: "go", followUp, sender };
  const { runId } = await call(toolbox, sendToSession, request);
  await linesOf("narrow-desk", 2);
  const { runs } = await call(toolbox, listRuns, {});
  const announced = await until(async () => {
    const found = runs.find(({ labels }) => labels["sourceRun"] === runId);
    return found ?? null;
  });
  for (const id of [runId, announced.runId]) {
    const { run } = await call(toolbox, getRun, { runId: id });
    assert.deepEqual(run.authority?.toolLayers.at(-1), ["read_*", "!read_file"]);
    assert.equal(run.authority.approval, "always");
    const { session: _, model: __, ...context } = run.authority.context;
    assert.deepEqual(context, origin);
  }
  const other = await connectBus({ servers: lab.nats.url, user: "cli" });
  await assert.rejects(call(other, sendToSession, { ...request, followUp: undefined }), (error) =>
    isError(error, sendToSession, "not_allowed"),
  );
  await other.close();
});

test("two sessions answer each other, and the chat of the first one receives the end [F8]", async () => {
  sent.length = 0;
  const followUp = {
    kind: "converse",
    requester: { session: "asking", agent: "done" },
    target: { session: "asked", agent: "told" },
    speaker: "target",
    turnsLeft: 3,
    question: "go",
    chat,
  } as const;
  await send("asked", "told", followUp);
  const asking = await linesOf("asking", 2);
  assert.match(
    asking[0]?.text ?? "",
    /Session asked \(agent told\) answers\.[^]*Noted\.[^]*Turns left: 3/,
  );
  assert.equal(asking[1]?.text, "REPLY_SKIP");
  await until(() => sent.length === 1);
  assert.equal(sent[0]?.text, "Noted.");
  const asked = await historyOf("asked");
  assert.equal(asked.length, 4);
  assert.match(asked[2]?.text ?? "", /First reply:\nNoted\./);
});

test("only the toolbox may define what follows a run", async () => {
  const to = { session: "desk", agent: "told" };
  const followUp = { kind: "announce", to, label: null, endsSession: false } as const;
  await assert.rejects(
    call(lab.bus, sendToSession, { session: "x", agent: "echo", message: "go", followUp }),
    /only the toolbox may set followUp/,
  );
});

test("an announcement survives the death of its runner, and an outage of the channels, and is made once [complaint-3]", async () => {
  sent.length = 0;
  isAway = true;
  const to = { session: "patient", agent: "told" };
  const followUp = { kind: "announce", to, label: "late", endsSession: false, chat } as const;
  await send("agent:echo:subagent:2", "echo", followUp, "late");
  await linesOf("patient", 2);
  first.kill("SIGKILL");
  await lab.runnerProcess(env);
  isAway = false;
  await until(() => sent.length === 1);
  await until(async () => (await lab.pendingCommands()) === 0);
  assert.equal(sent.length, 1);
  assert.equal((await historyOf("patient")).length, 2);
  const { runs } = await call(toolbox, listRuns, { limit: 50 });
  const names = runs.map(({ runId }) => runId);
  assert.equal(names.length, new Set(names).size);
});
