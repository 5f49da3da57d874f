import { call, client } from "@switchyard/bus/call";
import { connectionOf } from "@switchyard/bus/connection";
import { readEvents } from "@switchyard/bus/events";
import { storedRunEvents } from "@switchyard/service/read-run-events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { runTokens } from "@switchyard/contracts/ids";
import { findAgentOfRun, listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, listRuns, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { eventStream } from "@switchyard/topology/streams";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import {
  agent,
  ALLOWED,
  answering,
  DENIED,
  labTool,
  skill,
} from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { journalKey, stateKey } from "./run-keys.ts";

const lab = await startLab();
const { services } = lab;
const { nc } = connectionOf(lab.bus);
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
after(() => redis.disconnect());
await lab.runner({ YARD_RUNNER_SLOTS: "4" });

const SECRET = "password=hunter2-hunter2";
services.tools.set("count", ({ n }) => `counted ${String(n)} ${SECRET} ${"ä".repeat(3_000)}`);
services.tools.set("fail", (_args, { fail }) => {
  throw fail.tool_failed("the disk is full", { reason: "the disk is full" });
});
services.skills.set("notes", skill("notes", { text: "Read the notes." }));
const count = (n: number) => ({ calls: [{ tool: labTool("count"), with: { n } }] });
const question = { calls: [{ tool: "ask_user", with: { question: "May I?" } }] };
const task = { calls: [{ tool: "agent", with: { agent: "helper", task: "x" } }] };
const planned = (name: string, steps: readonly object[], answer = "done") =>
  services.agents.set(name, agent(name, { plan: { steps: [...steps] as never, answer } }));
services.agents.set("helper", answering("helper", "helped"));
planned(
  "walker",
  [count(1), { calls: [{ tool: labTool("fail"), with: { token: SECRET } }] }, count(3)],
  "x".repeat(30_000),
);
planned("questioner", [question, count(2)]);
planned("boss", [task]);
planned("careful", [task]);

/** Runs that end in every way, with waits, a child, a retry and texts that events show in part. */
async function makeRuns(): Promise<string[]> {
  const start = (name: string, runId: string, more: object = {}) =>
    lab.command(name, { runId, input: `${SECRET} ${"y".repeat(20_000)}`, ...more });
  await start("walker", "plain", { labels: { team: "t" } });
  await start("walker", "retried", { limits: { maxSteps: 2 } });
  await start("walker", "paused", { limits: { maxSteps: 2, onLimit: "pause" } });
  await start("questioner", "questioned");
  await start("questioner", "cancelled");
  await start("boss", "boss");
  await start("helper", "skilled", { skill: "notes" });

  await lab.eventsUntil("plain", "finished");
  await lab.eventsUntil("retried", "failed");
  await lab.publish("yard.cmd.cli.run.retry.retried", JSON.stringify({ limits: { maxSteps: 9 } }));
  await lab.eventsUntil("paused", "waiting");
  await lab.publish("yard.cmd.cli.run.resume.paused", JSON.stringify({ limits: { maxSteps: 9 } }));
  await lab.eventsUntil("questioned", "waiting");
  await lab.publish("yard.cmd.cli.run.steer.questioned", JSON.stringify({ message: "be quick" }));
  await lab.eventsUntil("questioned", "steered");
  const questioned = { runId: "questioned", callId: "cli~questioned:1:0", answer: "you may" };
  await call(lab.bus, answerQuestion, questioned);
  await lab.eventsUntil("cancelled", "waiting");
  await call(lab.bus, requestCancel, { runId: "cancelled", reason: "not needed" });
  for (const runId of ["retried", "paused", "questioned", "boss", "skilled"])
    await lab.eventsUntil(runId, "finished");
  await lab.eventsUntil("cancelled", "cancelled");

  const approvalId = `apr-${"a".repeat(32)}`;
  const expiresAt = "2999-01-01T00:00:00.000Z";
  services.hooks.check = () => ({ ...ALLOWED, effect: "ask", tier: "always" });
  services.hooks.admit = () => ({ outcome: "waiting", approvalId, expiresAt, tier: "always" });
  await start("careful", "approved");
  await lab.eventsUntil("approved", "waiting");
  services.hooks.admit = () => ({ outcome: "passed", approvalId, grantId: null, by: "sam" });
  await decideApproval(lab.bus, { approvalId, callId: "cli~approved:1:0", tool: "agent" });
  await lab.eventsUntil("approved", "finished");
  services.hooks.check = () => DENIED;
  await start("careful", "denied");
  await lab.eventsUntil("denied", "finished");
  services.hooks.check = () => ALLOWED;
  const { children = [] } = (await call(lab.bus, getRun, { runId: "boss" })).run;
  const child = children[0]?.runId ?? assert.fail();
  await lab.eventsUntil(child, "finished");
  return [...NAMES.map((name) => `cli~${name}`), child];
}

const NAMES = [
  "plain",
  "retried",
  "paused",
  "questioned",
  "cancelled",
  "boss",
  "skilled",
  "approved",
  "denied",
];

/** An event as its bytes in the stream and its message id. */
interface Published {
  readonly subject: string;
  readonly bytes: string;
  readonly messageId: string;
}

test("the events of runs are derived from their journals as they were published, and are read wherever they are", async () => {
  const runIds = await makeRuns();
  const published = new Map<string, Published[]>();
  for (const runId of runIds) published.set(runId, await inStream(runId));
  for (const [runId, events] of published) {
    const kinds = new Set(events.map(({ subject }) => subject.split(".").at(-1)));
    assert.ok(kinds.size >= 3, `${runId}: ${[...kinds].join(", ")}`);
    assert.deepEqual(await derived(runId), events, runId);
    assert.deepEqual(await derived(runId, 1), events, "page by page");
    assert.deepEqual((await read(runId)).map(asPublished), events);
  }
  const all = new Set(
    [...published.values()].flat().map(({ subject }) => subject.split(".").at(-1) ?? ""),
  );
  assert.deepEqual(all, new Set(KINDS));

  const before = await answersAbout(runIds);
  await archived(runIds);
  for (const [runId, events] of published) assert.deepEqual(await derived(runId), events, runId);
  assert.equal(await answersAbout(runIds), before, "byte for byte, as before the move");

  // The stream loses its older half: some runs are gone, and one begins in the middle.
  const [first] = await storedIn("cli~questioned");
  await purge({ seq: (first?.sequence ?? 0) + 3 });
  const left = (await storedIn("cli~questioned")).length;
  assert.ok(left > 0 && left < (published.get("cli~questioned") ?? []).length);
  for (const [runId, events] of published)
    assert.deepEqual((await read(runId)).map(asPublished), events, runId);

  await purge({});
  for (const [runId, events] of published) {
    assert.deepEqual((await read(runId)).map(asPublished), events, runId);
    assert.deepEqual(
      (await read(runId, 2)).map(asPublished),
      events.slice(1),
      "from the second on",
    );
  }
  const { agent: found } = await call(lab.bus, findAgentOfRun, { runId: "cli~questioned" });
  assert.equal(found, "questioner");
  assert.deepEqual(await call(lab.bus, findAgentOfRun, { runId: "cli~none" }), { agent: null });
});

test("an archived run is not started again by its command, and is forked and retried", async () => {
  const body = { runId: "moved", input: "x", limits: { maxSteps: 1 } };
  await lab.command("walker", body);
  await lab.eventsUntil("moved", "failed");
  await archived(["cli~moved"]);
  await lab.command("walker", body);
  await until(async () => (await lab.pendingCommands()) === 0);
  assert.equal(await redis.hget(stateKey("cli~moved"), "epoch"), "1", "claimed once");
  await lab.command("walker", { ...body, input: "y" });
  const refused = await lab.eventsUntil("moved", "rejected");
  assert.match(JSON.stringify(refused.at(-1)?.payload), /run_id_taken/);

  const fork = { newRunId: "forked", fromStep: 1, limits: { maxSteps: 9 } };
  await lab.publish("yard.cmd.cli.run.fork.moved", JSON.stringify(fork));
  await lab.eventsUntil("forked", "finished");
  const { run: forked } = await call(lab.bus, getRun, { runId: "forked" });
  assert.equal(forked.forkedFrom?.runId, "cli~moved");

  await lab.publish("yard.cmd.cli.run.retry.moved", JSON.stringify({ limits: { maxSteps: 9 } }));
  await lab.eventsUntil("moved", "finished");
  const { run } = await call(lab.bus, getRun, { runId: "moved" });
  assert.deepEqual([run.status, run.attempts], ["succeeded", 2]);
});

test("a refused command is read behind the events that happened before it", async () => {
  await lab.command("helper", { runId: "old", input: "x" });
  await lab.eventsUntil("old", "finished");
  await purge({});
  await lab.publish("yard.cmd.cli.run.retry.old", "{}");
  await lab.eventsUntil("old", "rejected");
  const names = (await read("cli~old")).map(({ subject }) => subject.split(".").at(-1));
  assert.deepEqual(names, ["started", "model-responded", "finished", "rejected"]);
});

/** Has the journals of runs moved into the archive now. */
async function archived(runIds: readonly string[]): Promise<void> {
  await redis.zadd("yard:runs:ended", ...runIds.flatMap((runId) => [1, runId]));
  const isMoved = async (runId: string) =>
    (await redis.exists(journalKey(runId))) === 0 &&
    (await redis.hexists(stateKey(runId), "archive")) === 1;
  await until(async () => (await Promise.all(runIds.map(isMoved))).every(Boolean));
}

/** Returns the replies of the runner about runs: each of them, and the lists that have them. */
async function answersAbout(runIds: readonly string[]): Promise<string> {
  const runs = await Promise.all(runIds.map((runId) => call(lab.bus, getRun, { runId })));
  const lists = [
    await call(lab.bus, listRuns, {}),
    await call(lab.bus, listRuns, { ids: [...runIds] }),
    await call(lab.bus, listRuns, { status: "cancelled" }),
    await call(lab.bus, listRuns, { sort: "longest" }),
    await call(lab.bus, listRuns, { text: "hunter2" }),
  ];
  return JSON.stringify([runs, lists]);
}

/** Every kind of event that these runs have. */
const KINDS = [
  "cancelled",
  "child-ended",
  "child-started",
  "failed",
  "finished",
  "limits-changed",
  "model-responded",
  "question-answered",
  "question-requested",
  "retried",
  "skill-activated",
  "started",
  "steered",
  "tool-completed",
  "tool-denied",
  "tool-failed",
  "tool-requested",
  "waiting",
  "woken",
];

const filterOf = (runId: string): string => {
  const run = runTokens(runId);
  return `yard.evt.run.${run.owner}.${run.runId}.*`;
};

async function storedIn(runId: string): Promise<StoredEvent[]> {
  const options = { filters: [filterOf(runId)], from: "beginning", stopAtEnd: true } as const;
  return allOf(readEvents(lab.bus, options));
}

async function allOf(events: AsyncIterable<StoredEvent>): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** Reads what the stream has of a run, byte by byte. */
async function inStream(runId: string): Promise<Published[]> {
  const events = await storedIn(runId);
  return Promise.all(
    events.map(async ({ sequence }) => {
      const subject = `$JS.API.STREAM.MSG.GET.${eventStream.name}`;
      const reply = await nc.request(subject, JSON.stringify({ seq: sequence }));
      const { message } = reply.json<{
        message: { subject: string; hdrs: string; data: string };
      }>();
      const headers = Buffer.from(message.hdrs, "base64").toString();
      return {
        subject: message.subject,
        bytes: Buffer.from(message.data, "base64").toString(),
        messageId: /^Nats-Msg-Id: ?(.*)\r$/m.exec(headers)?.[1] ?? "",
      };
    }),
  );
}

async function derived(runId: string, limit = 100): Promise<Published[]> {
  const subject = filterOf(runId).slice(0, -1);
  const found: Published[] = [];
  for (let behind: number | null = 0; behind !== null;) {
    const page: Awaited<ReturnType<typeof pageAfter>> = await pageAfter(runId, behind, limit);
    for (const { event, payload } of page.events)
      found.push({
        subject: `${subject}${event}`,
        bytes: JSON.stringify(payload),
        messageId: `${runId}:${payload.seq}`,
      });
    behind = page.next;
  }
  return found;
}

const pageAfter = (runId: string, behind: number, limit: number) =>
  call(lab.bus, listRunEvents, { runId, after: behind, limit });

function read(runId: string, behind = 0): Promise<StoredEvent[]> {
  const fromJournal = client(lab.bus, { listRunEvents }).listRunEvents;
  return allOf(storedRunEvents(lab.bus, { runId, after: behind, fromJournal }));
}

function asPublished({ subject, payload }: StoredEvent): Published {
  const { runId, seq } = payload as { readonly runId: string; readonly seq: number };
  return { subject, bytes: JSON.stringify(payload), messageId: `${runId}:${seq}` };
}

async function purge(request: object): Promise<void> {
  const subject = `$JS.API.STREAM.PURGE.${eventStream.name}`;
  const answer = (await nc.request(subject, JSON.stringify(request))).json<{ success?: boolean }>();
  assert.equal(answer.success, true);
}
