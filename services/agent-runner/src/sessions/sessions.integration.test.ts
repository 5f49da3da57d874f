import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  deleteSession,
  getSession,
  listSessions,
  patchSession,
  resetSession,
  sendToSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { z } from "zod";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, answering, labTool, skill } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const model = await startModelServer();
const directory = await testDirectory();
const modelsFile = join(directory, "models.json");
await writeFile(
  modelsFile,
  JSON.stringify({
    default: "scripted/plan",
    providers: { chat: { type: "openai-compatible", baseURL: `${model.url}/v1` } },
  }),
);
const lab = await startLab();
const { services } = lab;
const team = await connectBus({ servers: lab.nats.url, user: "team-a" });
const other = await connectBus({ servers: lab.nats.url, user: "team-b" });
after(async () => {
  await team.close();
  await other.close();
});
await lab.runner(
  { YARD_MODELS_FILE: modelsFile },
  { runSweepMs: 200, sessionMaxQueued: 3, sessionMaxPerOwner: 30 },
);

services.agents.set("echo", answering("echo", "you said {{/input}}"));
services.agents.set("chatter", agent("chatter", { model: "chat/m1" }));
services.agents.set(
  "gated",
  agent("gated", {
    plan: { steps: [{ calls: [{ tool: labTool("gate"), with: {} }] }], answer: "done {{/input}}" },
  }),
);

test("a run is given the earlier messages of its session, and its answer is kept [F7, F8]", async () => {
  model.answer({ text: ["Hello Ada."] }, { text: ["You are Ada."] });
  await start("chatter", { runId: "talk-1", input: "I am Ada.", session: "talk" });
  await lab.eventsUntil("team-a~talk-1", "finished");
  await start("chatter", { runId: "talk-2", input: "Who am I?", session: "talk" });
  const events = await lab.eventsUntil("team-a~talk-2", "finished");
  const received = heardBy(model.requests.at(-1)?.body);
  assert.deepEqual(
    received.map(({ role, content }) => [role, content]),
    [
      ["user", "I am Ada."],
      ["assistant", "Hello Ada."],
      ["user", "Who am I?"],
    ],
  );
  const history = await call(team, sessionHistory, { session: "talk" });
  assert.deepEqual(
    history.messages.map(({ role, text, runId, by }) => [role, text, runId, by]),
    [
      ["user", "I am Ada.", "team-a~talk-1", "team-a"],
      ["assistant", "Hello Ada.", "team-a~talk-1", undefined],
      ["user", "Who am I?", "team-a~talk-2", "team-a"],
      ["assistant", "You are Ada.", "team-a~talk-2", undefined],
    ],
  );
  const { session } = await call(team, getSession, { session: "talk" });
  assert.deepEqual(events[0]?.payload["session"], { sessionId: session.sessionId, key: "talk" });
  // Tools read the session from the token, which is what the runner requested.
  const granted = services.grants.find(({ runId }) => runId === "team-a~talk-2");
  assert.equal(granted?.origin?.session, session.sessionId);
  assert.deepEqual(
    [session.messages, session.activeRun, session.queued, session.lastRun],
    [4, null, 0, { runId: "team-a~talk-2", status: "succeeded", model: "chat/m1" }],
  );
  assert.ok(session.totalTokens > 0);
});

test("another caller's session is as unknown as none, and cli may use it [F6]", async () => {
  await start("echo", { runId: "own-1", input: "mine", session: "own" });
  await lab.eventsUntil("team-a~own-1", "finished");
  const { session } = await call(team, getSession, { session: "own" });
  const { sessionId } = session;
  for (const ref of ["own", sessionId, "nothing"]) {
    const refused = await refusal(call(other, getSession, { session: ref }));
    assert.equal(refused.code, "unknown_session");
    assert.equal(
      refused.message.replace(ref, "X"),
      (await refusal(call(other, getSession, { session: "zzz" }))).message.replace("zzz", "X"),
    );
  }
  for (const bus of [other]) {
    const asked = { session: "own", owner: "team-a" };
    assert.equal((await refusal(call(bus, sessionHistory, asked))).code, "unknown_session");
    assert.equal(
      (await refusal(call(bus, patchSession, { ...asked, label: "x" }))).code,
      "unknown_session",
    );
    assert.equal((await refusal(call(bus, resetSession, asked))).code, "unknown_session");
    assert.equal((await refusal(call(bus, deleteSession, asked))).code, "unknown_session");
    assert.equal(
      (await refusal(call(bus, sendToSession, { ...asked, message: "hi", agent: "echo" }))).code,
      "unknown_session",
    );
    assert.equal(
      (
        await refusal(
          call(bus, sendToSession, { session: sessionId, message: "hi", agent: "echo" }),
        )
      ).code,
      "unknown_session",
    );
    assert.deepEqual((await call(bus, listSessions, { owner: "team-a" })).sessions, []);
    assert.deepEqual((await call(bus, listSessions, { all: true })).sessions, []);
  }
  await lab.publish(
    "yard.cmd.team-b.run.start.echo",
    JSON.stringify({ runId: "stolen", input: "x", session: sessionId }),
  );
  const rejected = (await lab.eventsUntil("team-b~stolen", "rejected")).at(-1)?.payload;
  assert.equal(rejected?.["code"], "unknown_session");
  const found = await call(lab.bus, getSession, { session: "own", owner: "team-a" });
  assert.equal(found.session.sessionId, sessionId);
  const all = await call(lab.bus, listSessions, { all: true, search: "OWN" });
  assert.deepEqual(
    all.sessions.map(({ key, owner }) => [key, owner]),
    [["own", "team-a"]],
  );
  // The same key of another caller is another session.
  await call(
    other,
    sendToSession,
    { session: "own", agent: "echo", message: "theirs", timeoutSeconds: 30 },
    { timeoutMs: 60_000 },
  );
  assert.notEqual((await call(other, getSession, { session: "own" })).session.sessionId, sessionId);
});

test("enqueues messages that arrive meanwhile, and begins them in order when the run has ended", async () => {
  const gate = newGate();
  await start("gated", { runId: "line-1", input: "one", session: "line" });
  await gate.reached;
  const second = await say("line", "two", { runId: "line-2" });
  assert.deepEqual([second.placed, second.status], ["queued", "accepted"]);
  await start("echo", { runId: "line-3", input: "three", session: "line" });
  const queued = (await lab.eventsUntil("team-a~line-3", "queued")).at(-1)?.payload;
  assert.deepEqual([queued?.["sessionKey"], queued?.["position"]], ["line", 2]);
  const { session } = await call(team, getSession, { session: "line" });
  assert.deepEqual([session.activeRun, session.queued], ["team-a~line-1", 2]);
  gate.open();
  await lab.eventsUntil("team-a~line-3", "finished");
  await settled("line");
  const { messages } = await call(team, sessionHistory, { session: "line" });
  assert.deepEqual(texts(messages), [
    "one",
    "done one",
    "two",
    "done two",
    "three",
    "you said three",
  ]);
  const withTools = await call(team, sessionHistory, { session: "line", includeTools: true });
  const tools = withTools.messages.filter(({ role }) => role === "tool");
  assert.deepEqual(
    tools.map(({ tool, text, isError }) => [tool, text, isError]),
    [
      [labTool("gate"), "open", false],
      [labTool("gate"), "open", false],
    ],
  );
  // The same command again is the same message, even after its run has begun or ended.
  await start("echo", { runId: "line-3", input: "three", session: "line" });
  assert.equal((await say("line", "two", { runId: "line-2", agent: "gated" })).placed, "started");
  await until(async () => (await lab.pendingCommands()) === 0);
  assert.equal((await call(team, getSession, { session: "line" })).session.messages, 8);
});

test("rejects, interrupts and steers as the message says, and refuses a message above the limit", async () => {
  const gate = newGate();
  await start("gated", { runId: "busy-1", input: "one", session: "busy" });
  await gate.reached;
  await start("echo", { runId: "busy-no", input: "x", session: "busy", onBusy: "reject" });
  const rejected = (await lab.eventsUntil("team-a~busy-no", "rejected")).at(-1)?.payload;
  assert.equal(rejected?.["code"], "session_busy");
  assert.equal((await refusal(say("busy", "x", { onBusy: "reject" }))).code, "session_busy");
  const steered = await say("busy", "and be short", { runId: "busy-2", onBusy: "steer" });
  assert.deepEqual([steered.placed, steered.runId], ["steered", "team-a~busy-1"]);
  const merged = (await lab.eventsUntil("team-a~busy-2", "merged")).at(-1)?.payload;
  assert.equal(merged?.["into"], "team-a~busy-1");
  for (const n of [1, 2, 3]) await say("busy", `wait ${n}`, { runId: `busy-w${n}`, agent: "echo" });
  assert.equal((await refusal(say("busy", "too much", {}))).code, "session_queue_full");
  await start("echo", { runId: "busy-full", input: "x", session: "busy" });
  const full = (await lab.eventsUntil("team-a~busy-full", "rejected")).at(-1)?.payload;
  assert.equal(full?.["code"], "session_queue_full");
  gate.open();
  await settled("busy");
  const { messages } = await call(team, sessionHistory, { session: "busy" });
  assert.deepEqual(texts(messages).slice(0, 3), ["one", "and be short", "done one"]);

  const slow = newGate();
  await start("gated", { runId: "busy-3", input: "old news", session: "busy" });
  await slow.reached;
  await say("busy", "later", { runId: "busy-later", agent: "echo" });
  const now = await say("busy", "now", { runId: "busy-now", agent: "echo", onBusy: "interrupt" });
  assert.equal(now.placed, "queued");
  const cancelled = (await lab.eventsUntil("team-a~busy-3", "cancelled")).at(-1)?.payload;
  assert.match(String(cancelled?.["reason"]), /newer message of its session, team-a~busy-now/);
  await settled("busy");
  const later = await call(team, sessionHistory, { session: "busy" });
  const tail = later.messages.slice(-6).map(({ role, text }) => `${role}: ${text}`);
  assert.match(tail[1] ?? "", /^notice: there was no answer: the run was cancelled by team-a/);
  assert.deepEqual(
    [tail[0], ...tail.slice(2)],
    [
      "user: old news",
      "user: now",
      "assistant: you said now",
      "user: later",
      "assistant: you said later",
    ],
  );
});

test("a skill is rendered for the run, shown as it is typed, and given to no other run [D62]", async () => {
  services.skills.set("greet", skill("greet"));
  model.answer({ text: ["Hello."] });
  const asked = { agent: "chatter", skill: "greet" };
  const said = await say("greeted", "Ada", { ...asked, timeoutSeconds: 30 });
  assert.deepEqual([said.status, said.reply], ["ok", "Hello."]);
  const received = heardBy(model.requests.at(-1)?.body);
  assert.match(String(received.at(-1)?.content), /Do greet\.[^]*ARGUMENTS: Ada/);
  const { messages } = await call(team, sessionHistory, { session: "greeted" });
  assert.deepEqual(texts(messages), ["/greet Ada", "Hello."]);
  const gate = newGate();
  await start("gated", { runId: "greet-gate", input: "x", session: "greeted" });
  await gate.reached;
  const waits = await say("greeted", " ", { agent: "echo", skill: "greet", onBusy: "steer" });
  assert.equal(waits.placed, "queued");
  // A message with a model or a form of the answer waits too, since a run that is under way has these already.
  const played = { agent: "echo", model: "scripted/plan" };
  const modelled = await say("greeted", "x", { ...played, onBusy: "steer" });
  assert.equal(modelled.placed, "queued");
  const form = { session: "greeted", onBusy: "steer", output: { type: "object" } } as const;
  await start("echo", { runId: "greet-form", input: "x", ...form });
  await lab.eventsUntil("team-a~greet-form", "queued");
  gate.open();
  await settled("greeted");
});

test("an agent's tools count for its own runs: back with the agent of before, a session has all of them again [D19]", async () => {
  services.agents.set("narrow", answering("narrow", "few", { tools: [labTool("gate")] }));
  services.agents.set("general", answering("general", "all"));
  for (const name of ["general", "narrow", "general"]) {
    if (name === "narrow") await call(team, patchSession, { session: "switched", agent: name });
    const asked = name === "narrow" ? {} : { agent: name };
    const said = await say("switched", "hi", { ...asked, timeoutSeconds: 30 });
    assert.equal(said.reply, name === "narrow" ? "few" : "all");
  }
  const names = new Set(["general", "narrow"]);
  const granted = new Map(
    services.grants
      .filter((grant) => names.has(grant.agent))
      .map(({ runId, tools }) => [runId, tools]),
  );
  assert.deepEqual([...granted.values()], [[], [[labTool("gate")]], []]);
});

test("waits for the answer as long as the sender wants, by key or by label [F8] [complaint-2]", async () => {
  const ok = await say("quick", "hi", { agent: "echo", timeoutSeconds: 30 });
  assert.deepEqual([ok.status, ok.reply], ["ok", "you said hi"]);
  await call(team, patchSession, { session: "quick", label: "Ada's", kind: "main" });
  const byLabel = await call(team, sendToSession, {
    label: "Ada's",
    message: "again",
    timeoutSeconds: 30,
  });
  assert.deepEqual(
    [byLabel.status, byLabel.reply, byLabel.sessionKey],
    ["ok", "you said again", "quick"],
  );
  const stranger = await refusal(
    call(team, sendToSession, { label: "no such", message: "x", agent: "echo" }),
  );
  assert.deepEqual(
    [stranger.code, stranger.message],
    ["unknown_session", "No session found with label: no such"],
  );
  const both = await refusal(call(team, sendToSession, { session: "a", label: "b", message: "x" }));
  assert.match(both.message, /Provide either session or label \(not both\)/);
  assert.match(
    (await refusal(call(team, sendToSession, { message: "x" }))).message,
    /Either session or label is required/,
  );
  assert.equal(
    (await refusal(call(team, sendToSession, { session: "new", message: "x" }))).code,
    "agent_required",
  );
  await say("second", "hi", { agent: "echo", timeoutSeconds: 30 });
  const taken = await refusal(call(team, patchSession, { session: "second", label: "Ada's" }));
  assert.equal(taken.code, "label_taken");
  const gate = newGate();
  const late = await say("quick", "slow", { agent: "gated", timeoutSeconds: 1 });
  assert.equal(late.status, "timeout");
  gate.open();
  const broken = await say("broken", "x", { agent: "nobody", timeoutSeconds: 30 });
  assert.deepEqual([broken.status, broken.error?.code], ["error", "unknown_agent"]);
  await settled("broken");
  assert.equal((await refusal(say("quick", "x", { runId: "talk-1" }))).code, "run_id_taken");
});

test("a change for a version is made when the settings have not changed since, and of two at once one is", async () => {
  await say("versioned", "hi", { agent: "echo", timeoutSeconds: 30 });
  const read = async () => (await call(team, getSession, { session: "versioned" })).session;
  const ifVersion = (await read()).version ?? assert.fail("no version");
  await say("versioned", "again", { timeoutSeconds: 30 });
  assert.equal((await read()).version, ifVersion, "a message does not change the settings");

  const named = (label: string) =>
    call(team, patchSession, { session: "versioned", label, ifVersion });
  const both = await Promise.allSettled(["one", "other"].map(named));
  const made = both.filter((end) => end.status === "fulfilled");
  assert.equal(made.length, 1);
  const now = await read();
  assert.equal(made[0]?.value.session.label, now.label);
  assert.equal(made[0]?.value.session.version, now.version);
  const refused: unknown = both.find((end) => end.status === "rejected")?.reason;
  assert.ok(refused instanceof ServiceError, String(refused));
  assert.deepEqual([refused.code, refused.data], ["version_changed", { version: now.version }]);

  const next = { session: "versioned", kind: "main", ifVersion: now.version ?? "" } as const;
  assert.equal((await call(team, patchSession, next)).session.kind, "main");
  await call(team, patchSession, { session: "versioned", label: null });
  assert.equal((await refusal(call(team, patchSession, next))).code, "version_changed");
  const { label, version } = await read();
  assert.equal(label, null);
  const remove = call(team, deleteSession, { session: "versioned", ifVersion: next.ifVersion });
  assert.equal((await refusal(remove)).code, "version_changed");
  await call(team, deleteSession, { session: "versioned", ifVersion: version });
});

test("a reset begins anew under the same name, a delete forgets all, and each notifies the callers that wait", async () => {
  const gate = newGate();
  await start("gated", { runId: "old-1", input: "one", session: "old" });
  await gate.reached;
  await call(team, patchSession, { session: "old", label: "kept", onBusy: "enqueue" });
  await say("old", "two", { runId: "old-2", agent: "echo" });
  const before = await call(team, getSession, { session: "old" });
  const reset = await call(team, resetSession, { session: "old" });
  assert.equal(reset.endedSessionId, before.session.sessionId);
  assert.deepEqual([reset.cancelledRun, reset.droppedRuns], ["team-a~old-1", ["team-a~old-2"]]);
  assert.deepEqual([reset.session.label, reset.session.messages], ["kept", 0]);
  assert.notEqual(reset.session.sessionId, reset.endedSessionId);
  const dropped = (await lab.eventsUntil("team-a~old-2", "rejected")).at(-1)?.payload;
  assert.equal(dropped?.["code"], "session_ended");
  await lab.eventsUntil("team-a~old-1", "cancelled");
  // The end of a run of the earlier life does not concern this one.
  await until(async () => (await lab.pendingCommands()) === 0);
  assert.equal((await call(team, getSession, { session: "old" })).session.messages, 0);
  assert.equal(
    (await say("old", "three", { agent: "echo", timeoutSeconds: 30 })).reply,
    "you said three",
  );
  const deleted = await call(team, deleteSession, { session: reset.session.sessionId });
  assert.deepEqual([deleted.sessionKey, deleted.cancelledRun], ["old", null]);
  assert.equal((await refusal(call(team, getSession, { session: "old" }))).code, "unknown_session");
  const names = await sessionEvents(reset.endedSessionId, "ended");
  assert.deepEqual(names, ["created", "patched", "message-queued", "reset", "ended"]);
  assert.deepEqual(await sessionEvents(deleted.sessionId, "ended"), [
    "created",
    "message-added",
    "ended",
  ]);
  const listed = await call(team, listSessions, { search: "old" });
  assert.equal(listed.count, 0);
});

test("keeps what looks like a credential out of the history, the events and the model's context [F7]", async () => {
  const secret = `sk-${"a1b2c3d4".repeat(4)}`;
  await say("secrets", `my key is ${secret}`, { agent: "echo", timeoutSeconds: 30 });
  await settled("secrets");
  const { messages, contentRedacted } = await call(team, sessionHistory, { session: "secrets" });
  assert.equal(contentRedacted, true);
  assert.deepEqual(texts(messages), ["my key is [redacted]", "you said my key is [redacted]"]);
  model.answer({ text: ["ok"] });
  await say("secrets", "what is my key?", { agent: "chatter", timeoutSeconds: 30 });
  assert.doesNotMatch(JSON.stringify(model.requests.at(-1)?.body), new RegExp(secret));
});

test("lists by kind, by use and with messages [F6]", async () => {
  await say("cron:nightly", "hi", { agent: "echo", timeoutSeconds: 30 });
  await settled("cron:nightly");
  const cron = await call(team, listSessions, {
    kinds: ["cron"],
    messageLimit: 1,
    activeMinutes: 5,
  });
  assert.deepEqual(
    cron.sessions.map(({ key, kind, history }) => [key, kind, texts(history ?? [])]),
    [["cron:nightly", "cron", ["you said hi"]]],
  );
  const two = await call(team, listSessions, { limit: 2 });
  assert.equal(two.count, 2);
  const all = await call(team, listSessions, { limit: 200 });
  assert.equal(all.next, null);
  const keys: string[] = [];
  const readOn = async (cursor?: string): Promise<void> => {
    const page = await call(team, listSessions, { limit: 2, cursor });
    for (const { key } of page.sessions) keys.push(key);
    if (page.next !== null) await readOn(page.next);
  };
  await readOn();
  assert.deepEqual(
    keys,
    all.sessions.map(({ key }) => key),
  );
});

interface Gate {
  readonly reached: Promise<void>;
  open(): void;
}

/** A tool call that waits until the test releases it. */
function newGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  services.tools.set("gate", (_args, { signal }) => {
    reached.resolve();
    signal.addEventListener("abort", () => opened.resolve("too late"));
    return opened.promise;
  });
  return { reached: reached.promise, open: () => opened.resolve("open") };
}

function say(
  session: string,
  message: string,
  more: Partial<z.input<typeof sendToSession.request>>,
) {
  return call(team, sendToSession, { session, message, ...more }, { timeoutMs: 60_000 });
}

async function settled(session: string): Promise<void> {
  await until(async () => {
    const found = await call(team, getSession, { session });
    return found.session.activeRun === null && found.session.queued === 0;
  });
}

async function sessionEvents(sessionId: string, last: string): Promise<string[]> {
  const names: string[] = [];
  const filters = [`yard.evt.session.team-a.${sessionId}.*`];
  for await (const { subject } of readEvents(lab.bus, { filters, from: "beginning" })) {
    names.push(subject.split(".").at(-1) ?? "");
    if (names.at(-1) === last) return names;
  }
  return names;
}

/** The messages of a request in OpenAI's form, without the system prompt. */
function heardBy(body: Record<string, unknown> = {}): { role: string; content: unknown }[] {
  const { messages } = body as { messages: { role: string; content: unknown }[] }; // the provider made it
  return messages.filter(({ role }) => role !== "system");
}

function texts(messages: readonly { readonly text: string }[]): string[] {
  return messages.map(({ text }) => text);
}

function start(agentName: string, body: object): Promise<void> {
  return lab.publish(`yard.cmd.team-a.run.start.${agentName}`, JSON.stringify(body));
}

async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error && "code" in error)
      return { code: String(error.code), message: error.message };
    throw error;
  }
  throw new Error("it was not refused");
}
