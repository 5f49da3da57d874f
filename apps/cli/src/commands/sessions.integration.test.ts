import assert from "node:assert/strict";
import { test } from "node:test";
import { publishEvent, publishLive } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import { runFinished, runLive, runMerged } from "@switchyard/contracts/agent-runner/run-events";
import { eventStream } from "@switchyard/topology/streams";
import { connect } from "nats";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { listSkills } from "@switchyard/contracts/skill-importer/skills";
import * as sessions from "@switchyard/contracts/agent-runner/sessions";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };
const AT = "2026-01-01T00:00:00.000Z";
const session: sessions.Session = {
  sessionId: `ses-${"a".repeat(26)}-1`,
  key: "support",
  owner: "cli",
  kind: "other",
  label: "Ada's",
  agent: "demo",
  model: null,
  skillsOff: ["pdf"],
  onBusy: "enqueue",
  createdAt: AT,
  updatedAt: AT,
  endsAt: AT,
  messages: 4,
  droppedMessages: 0,
  bytes: 400,
  activeRun: "run-1",
  queued: 2,
  lastRun: null,
  totalTokens: 42,
};
const { sessionId, key: sessionKey } = session;
const asked: unknown[] = [];

const bus = await testBus(nats, "runner");
await ensureStreams(bus);
const service = serve(bus, {
  name: "runner",
  version: "0.0.0",
  description: "Sessions that remember what they were asked",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(sessions.listSessions, (request) => {
  asked.push(request);
  return { count: 1, sessions: [session] };
});
service.handle(sessions.getSession, (request, { fail }) => {
  if (request.session === "gone")
    throw fail.unknown_session("there is no session gone", { session: "gone" });
  return { session };
});
service.handle(sessions.sessionHistory, (request) => {
  asked.push(request);
  return {
    sessionId,
    sessionKey,
    messages: [
      { at: AT, role: "user" as const, text: "hello\nthere", runId: "r1", by: "cli" },
      { at: AT, role: "assistant" as const, text: "hi \u001b[31mred", runId: "r1" },
      { at: AT, role: "notice" as const, text: "there was no answer", runId: "r2" },
    ],
    truncated: true,
    droppedMessages: 7,
    contentTruncated: false,
    contentRedacted: false,
    bytes: 300,
  };
});
service.handle(sessions.patchSession, (request) => {
  asked.push(request);
  return { session };
});
const stopped = { cancelledRun: "run-1", droppedRuns: ["run-2", "run-3"] };
service.handle(sessions.resetSession, () => ({ session, endedSessionId: sessionId, ...stopped }));
service.handle(sessions.deleteSession, () => ({ sessionId, sessionKey, ...stopped }));
service.handle(sessions.sendToSession, async (request) => {
  asked.push(request);
  const [runId, into] = ["sent-1", "running-1"];
  const accepted = { status: "accepted" as const, sessionId, sessionKey };
  if ("message" in request && request.message === "write") {
    void writeLive("written-1");
    return { ...accepted, runId: "written-1", placed: "queued" as const };
  }
  const merged = { runId, at: AT, sessionId, sessionKey, into };
  await publishEvent(bus, runMerged, { owner: "cli", runId }, merged, {});
  await finish(into);
  return { ...accepted, runId, placed: "started" as const };
});

/** A run whose model writes as soon as its events, and with them its text, have a subscriber. */
async function writeLive(runId: string): Promise<void> {
  const plain = await connect({ servers: nats.url });
  const manager = await plain.jetstreamManager();
  await until(async () => (await manager.streams.info(eventStream.name)).state.consumer_count > 0);
  await plain.close();
  publishLive(
    bus,
    runLive,
    { owner: "cli", runId },
    { runId, step: 1, delta: "as it is\nwritten" },
  );
  await finish(runId);
}

function finish(runId: string): Promise<unknown> {
  const usage = { inputTokens: 1, outputTokens: 1 };
  const work = { model: "scripted/plan", steps: 1, toolCalls: 0, usage, durationMs: 1 };
  return publishEvent(
    bus,
    runFinished,
    { owner: "cli", runId },
    { runId, seq: 1, at: AT, output: "the answer", ...work },
    {},
  );
}

const digest = `sha256:${"a".repeat(64)}`;
service.handle(listAgents, () => ({
  agents: [
    {
      name: "demo",
      description: "Reads files",
      source: "project" as const,
      digest,
      model: "scripted/plan",
    },
  ],
}));
service.handle(listSkills, () => ({
  skills: [
    {
      name: "greet",
      description: "Says hello",
      digest,
      path: "skills/greet",
      userInvocable: true,
      modelInvocable: true,
      allowedTools: null,
      argumentHint: null,
      diagnostics: [],
    },
  ],
}));

test("lists sessions, with filters, for people and as JSON [F6]", async () => {
  const args = ["list", "--kind", "main", "cron", "--search", "sup", "--active", "5", "--all"];
  const { code, stdout, stderr } = await yard(["sessions", ...args], env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^SESSION +LABEL +KIND +AGENT +STATE +MESSAGES +TOKENS +USED +OWNER$/m);
  assert.match(stdout, /^support +Ada's +other +demo +running, 2 waiting +4 +42 .* cli$/m);
  assert.deepEqual(asked.pop(), {
    kinds: ["main", "cron"],
    search: "sup",
    activeMinutes: 5,
    limit: 50,
    messageLimit: 0,
    all: true,
  });
  const json = await yard(["sessions", "list", "--json", "--owner", "me"], env);
  assert.deepEqual(JSON.parse(json.stdout).data.sessions, [session]);
});

test("shows a session and the end of its conversation, without control characters [F7, F10]", async () => {
  const { code, stdout, stderr } = await yard(["sessions", "show", "support", "--tools"], env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^session +support +ses-a+-1$/m);
  assert.match(stdout, /^history +4 messages, 400 B, 42 tokens$/m);
  assert.match(stdout, /^… 7 earlier messages not shown$/m);
  assert.match(
    stdout,
    /^▸ cli .*r1\n {4}hello\n {4}there\n◆ agent .*\n {4}hi \\x1b\[31mred\n! runner/m,
  );
  const gone = await yard(["sessions", "show", "gone"], env);
  assert.equal(gone.code, 3);
  assert.match(gone.stderr, /yard sessions list/);
});

test("sends, and follows the run that the message became part of [F8]", async () => {
  const args = ["send", "support", "hello", "--agent", "demo", "--on-busy", "steer"];
  const { code, stdout, stderr } = await yard(["sessions", ...args], env);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "the answer\n");
  assert.match(stderr, /merged +into run running-1 of session support/);
  assert.deepEqual(asked.pop(), {
    session: "support",
    message: "hello",
    agent: "demo",
    onBusy: "steer",
    timeoutSeconds: 0,
  });
  const only = await yard(["sessions", "send", "support", "hello", "--no-wait"], env);
  assert.equal(only.stdout, "sent-1\n");
});

test("shows what the model writes while it writes it", async () => {
  const { code, stdout, stderr } = await yard(["sessions", "send", "support", "write"], env);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "the answer\n");
  assert.match(stderr, /queued +written-1 +session support/);
  assert.match(stderr, /as it is/);
});

test("a line with a slash is a command, a skill or an escaped text [D62]", async () => {
  const say = (line: string) => yard(["sessions", "send", "support", line, "--no-wait"], env);
  const before = asked.length;
  const help = await say("/help");
  assert.equal(help.code, 0, help.stderr);
  assert.match(help.stdout, /^\/agent <name> +who answers from now on/m);
  assert.match((await say("/skills")).stdout, /^greet +Says hello/m);
  const unknown = await say("/gret Ada");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /Unknown command: \/gret\..* Did you mean \/greet\?/);
  const model = await say("/model x/y");
  assert.equal(model.code, 2);
  assert.match(model.stderr, /yard sessions set support --model/);
  assert.equal(asked.length, before, "nothing of this is said in the session");

  const off = await say("/skill off greet");
  assert.equal(off.stdout, "Skill greet is off in this session\n");
  assert.deepEqual(asked.pop(), { session: "support", skillsOff: ["pdf", "greet"] });
  await say("/skill on pdf");
  assert.deepEqual(asked.pop(), { session: "support", skillsOff: [] });
  const switched = await say("/agent demo");
  assert.equal(switched.stdout, "Switched to agent: demo (scripted/plan — rule-based, no AI)\n");
  assert.deepEqual(asked.pop(), { session: "support", agent: "demo" });

  const base = { session: "support", timeoutSeconds: 0 };
  const skill = await say('/greet  Ada "B  C"');
  assert.match(skill.stderr, /\[Invoking skill: greet\]/);
  assert.deepEqual(asked.pop(), { ...base, message: ' Ada "B  C"', skill: "greet" });
  await say("//greet");
  assert.deepEqual(asked.pop(), { ...base, message: "/greet" });
});

test("changes settings, and deletes nothing without confirmation", async () => {
  const args = ["set", "support", "--label", "", "--model", "default", "--on-busy", "reject"];
  const { code, stderr } = await yard(["sessions", ...args], env);
  assert.equal(code, 0, stderr);
  assert.deepEqual(asked.pop(), {
    session: "support",
    label: null,
    model: null,
    onBusy: "reject",
  });
  assert.equal((await yard(["sessions", "set", "support"], env)).code, 2);
  for (const verb of ["reset", "delete"]) {
    const unasked = await yard(["sessions", verb, "support"], env);
    assert.equal(unasked.code, 2);
    assert.match(unasked.stderr, /--yes/);
    const done = await yard(["sessions", verb, "support", "--yes"], env);
    assert.equal(done.code, 0, done.stderr);
    assert.match(
      done.stderr,
      /run run-1 is being cancelled\n2 waiting messages refused: run-2, run-3/,
    );
  }
});

test("a policy without a session, and one that does not exist, are usage errors", async () => {
  const alone = await yard(["run", "demo", "hi", "--on-busy", "steer"], env);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /--session/);
  assert.equal((await yard(["run", "demo", "hi", "--on-busy", "wait"], env)).code, 2);
});
