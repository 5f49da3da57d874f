import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { lastAddress, sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { beginRun } from "@switchyard/contracts/agent-runner/run-commands";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import * as schedules from "@switchyard/contracts/scheduler/schedules";
import { sessionHistory } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { answering } from "../../services/agent-runner/test-fixtures/fake-services.ts";
import { startLab } from "../../services/agent-runner/test-fixtures/runner-lab.ts";
import { nextHeartbeat } from "@switchyard/project/jobs/next-time";
import { redisWords } from "../lib/redis-words.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const HEARTBEAT_MS = 4_000;
// A real scheduler and a real runner, with the runner's own dependencies.
const lab = await startLab();
lab.services.agents.set("clerk", answering("clerk", "done"));
lab.services.agents.set("loud", answering("loud", "a report"));
const [teamA, teamB] = await Promise.all([connect("team-a"), connect("team-b")]);
await lab.runner({ YARD_RUNNER_SLOTS: "32" });
let scheduler = await startScheduler();

type SchedulerProcess = { readonly child: ChildProcess; readonly exited: Promise<unknown> };

const job = (fields: Record<string, unknown> = {}) =>
  schedules.ScheduleJobInput.parse({
    name: "report",
    agentId: "clerk",
    schedule: { kind: "at", at: new Date(Date.now() + 300).toISOString() },
    sessionTarget: "isolated",
    payload: { kind: "agentTurn", message: "write the report" },
    ...fields,
  });

test("jobs are listed a page at a time in each order, and one that is removed in between shifts nothing", async () => {
  const query = "paged";
  const ids: string[] = [];
  for (const [index, name] of ["Éclair: one", "zebra", "apple", "apple"].entries()) {
    const schedule = { kind: "every", everyMs: 3_600_000 * (1 + index) } as const;
    const asked = job({ name, description: query, schedule });
    ids.push((await call(teamA, schedules.addSchedule, { job: asked })).job.id);
  }
  for (const sortBy of ["nextRunAtMs", "updatedAtMs", "name"] as const)
    for (const sortDir of ["asc", "desc"] as const) {
      const order = { query, sortBy, sortDir };
      const whole = await call(teamA, schedules.listSchedules, order);
      assert.equal(whole.next, null);
      const seen: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const asked = cursor === undefined ? {} : { cursor };
        const page: Awaited<ReturnType<typeof pageOf>> = await pageOf({ ...order, ...asked });
        seen.push(...page.jobs.map(({ id }) => id));
        cursor = page.next;
      }
      assert.deepEqual(
        seen,
        whole.jobs.map(({ id }) => id),
      );
    }
  const first = await pageOf({ query, sortBy: "name" });
  const gone = first.jobs[0]?.id ?? "";
  const second = await pageOf({ query, sortBy: "name", cursor: first.next ?? "" });
  await call(teamA, schedules.removeSchedule, { jobId: gone });
  const again = await pageOf({ query, sortBy: "name", cursor: first.next ?? "" });
  assert.deepEqual(again.jobs, second.jobs);
  for (const jobId of ids.filter((id) => id !== gone))
    await call(teamA, schedules.removeSchedule, { jobId });
});

function pageOf(asked: {
  query: string;
  sortBy: "nextRunAtMs" | "updatedAtMs" | "name";
  sortDir?: "asc" | "desc";
  cursor?: string;
}) {
  return call(teamA, schedules.listSchedules, { limit: 1, ...asked });
}

test("status, add, list, update, run, runs and remove do what they say, for their owner alone [F23][F24][F25][F26][F27][F28][F29]", async () => {
  const asked = job({ schedule: { kind: "every", everyMs: 3_600_000 } });
  const { job: added } = await call(teamA, schedules.addSchedule, { job: asked });
  assert.equal(added.owner, "team-a");
  const jobId = added.id;
  const { jobs, limit } = await call(teamA, schedules.scheduleStatus, {});
  assert.deepEqual([jobs, limit], [1, 300]);
  const listed = await call(teamA, schedules.listSchedules, { query: "REPO" });
  assert.deepEqual(
    listed.jobs.map(({ id }) => id),
    [jobId],
  );

  const notDue = await call(teamA, schedules.runSchedule, { jobId, mode: "due" });
  assert.deepEqual(notDue, { ran: false, reason: "not-due" });
  const forced = await call(teamA, schedules.runSchedule, { jobId });
  assert.match(forced.runId ?? "", /^team-a~cron-/);
  const entries = await until(async () => {
    const page = await call(teamA, schedules.scheduleRuns, { jobId });
    return page.entries.length > 0 && page.entries;
  });
  assert.deepEqual(
    entries.map(({ status, summary, runId }) => [status, summary, runId]),
    [["ok", "done", forced.runId]],
  );
  const { run } = await call(teamA, getRun, { runId: forced.runId ?? "" });
  assert.equal(run.requester, "team-a");

  const unknown = { code: "unknown_job", message: `unknown cron job id: ${jobId}` };
  await assert.rejects(
    call(teamB, schedules.updateSchedule, { jobId, patch: { name: "mine" } }),
    unknown,
  );
  await assert.rejects(call(teamB, schedules.removeSchedule, { jobId }), unknown);
  await assert.rejects(call(teamB, schedules.runSchedule, { jobId }), unknown);
  await assert.rejects(call(teamB, schedules.scheduleRuns, { jobId }), unknown);
  await assert.rejects(call(teamB, schedules.removeSchedule, { jobId, owner: "team-a" }), unknown);
  const foreign = await call(teamB, schedules.listSchedules, { all: true, includeDisabled: true });
  assert.deepEqual(foreign.jobs, []);
  const all = await call(lab.bus, schedules.listSchedules, { all: true });
  assert.ok(all.jobs.some(({ id }) => id === jobId));

  await assert.rejects(call(teamB, schedules.getSchedule, { jobId }), unknown);
  const { job: read } = await call(teamA, schedules.getSchedule, { jobId });
  assert.equal(read.id, jobId);
  const ifVersion = String(read.updatedAtMs);
  const renaming = ["one", "other"].map((name) =>
    call(teamA, schedules.updateSchedule, { jobId, patch: { name }, ifVersion }),
  );
  const outcomes = await Promise.allSettled(renaming);
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  await assert.rejects(call(teamA, schedules.removeSchedule, { jobId, ifVersion }), {
    code: "version_changed",
  });
  const { job: off } = await call(teamA, schedules.updateSchedule, {
    jobId,
    patch: { enabled: false },
  });
  assert.equal(off.enabled, false);
  assert.deepEqual(await call(teamA, schedules.removeSchedule, { jobId }), {
    jobId,
    removed: true,
  });
  await assert.rejects(call(teamA, schedules.removeSchedule, { jobId }), unknown);
  const kept = await call(teamA, schedules.scheduleRuns, { jobId });
  assert.equal(kept.total, 1, "the log of a job that was removed can be read");
});

test("a job that ran once is added once by its key, and its log is found behind a hundred jobs that were removed later", async () => {
  const asked = { job: job({ name: "once" }), idempotencyKey: "the first of May" };
  const [added, repeated] = await Promise.all([
    call(teamA, schedules.addSchedule, asked),
    call(teamA, schedules.addSchedule, asked),
  ]);
  const { id: jobId } = added.job;
  assert.equal(repeated.job.id, jobId);
  const ended = async () => (await call(teamA, schedules.scheduleRuns, { jobId })).entries;
  await until(async () => {
    const gone = await call(teamA, schedules.getSchedule, { jobId }).catch(() => null);
    return gone === null;
  });
  const later = job({ name: "later", schedule: { kind: "every", everyMs: 3_600_000 } });
  await Promise.all(
    Array.from({ length: 101 }, async () => {
      const { job: one } = await call(teamA, schedules.addSchedule, { job: later });
      await call(teamA, schedules.removeSchedule, { jobId: one.id });
    }),
  );
  assert.deepEqual(
    (await ended()).map(({ jobName, status }) => [jobName, status]),
    [["once", "ok"]],
  );
  const all = await call(teamA, schedules.scheduleRuns, { limit: 200 });
  assert.ok(all.entries.some((entry) => entry.jobId === jobId));
  await assert.rejects(call(teamB, schedules.scheduleRuns, { jobId }), { code: "unknown_job" });

  const again = await call(teamA, schedules.addSchedule, asked);
  assert.deepEqual([again.job.id, again.job.createdAtMs], [jobId, added.job.createdAtMs]);
  assert.equal((await call(teamA, schedules.listSchedules, { query: "once" })).total, 0);
  await assert.rejects(
    call(teamA, schedules.addSchedule, { ...asked, job: job({ name: "another" }) }),
    { code: "idempotency_conflict", data: { jobId } },
  );
});

test("an owner who keeps too much adds and changes no job, and pauses and removes what it has", async () => {
  const teamC = await connect("team-c");
  const every = job({ schedule: { kind: "every", everyMs: 3_600_000 } });
  const add = () => call(teamC, schedules.addSchedule, { job: every });
  const { id: jobId } = (await add()).job;
  await redisWords(lab.redis.url, null, [["HSET", "yard:storage:{team-c}:broker", "=", "9e9"]]); // as counted by another service
  await until(async () => JSON.stringify(await add().catch(String)).includes("may keep"));
  const change = (patch: object) => call(teamC, schedules.updateSchedule, { jobId, patch });
  await assert.rejects(change({ name: "more" }), { code: "storage_full" });
  await change({ enabled: false }).then(() => call(teamC, schedules.removeSchedule, { jobId }));
});

test("what is missing in a request is said in the words of the specification [F25][F26][F27]", async () => {
  await assert.rejects(call(teamA, schedules.addSchedule, {}), { message: "job required" });
  await assert.rejects(call(teamA, schedules.updateSchedule, { jobId: "x" }), {
    message: "patch required",
  });
  const noId = { message: "jobId required (id accepted for backward compatibility)" };
  await assert.rejects(call(teamA, schedules.removeSchedule, {}), noId);
  await assert.rejects(call(teamA, schedules.runSchedule, {}), noId);
  const stranger = {
    name: "x",
    sessionTarget: "isolated",
    schedule: { kind: "at", at: "2030-01-01" },
  } as const;
  await assert.rejects(
    call(teamA, schedules.addSchedule, {
      job: { ...stranger, payload: { kind: "agentTurn", message: "x" } },
    }),
    { code: "invalid_job", message: /agentId is required/ },
  );
});

test("only the scheduler starts a run in another user's name", async () => {
  const start = { runId: "stolen", input: "x" };
  await publishCommand(teamB, beginRun, { agent: "clerk" }, { owner: "team-a", start });
  await lab.command("clerk", { runId: "after", input: "x" });
  await lab.eventsUntil("after", "finished");
  await until(async () => (await lab.pendingCommands()) === 0);
  await assert.rejects(call(teamA, getRun, { runId: "stolen" }), { code: "unknown_run" });
});

test("a main job speaks in its owner's session", async () => {
  const fields = {
    sessionTarget: "main",
    payload: { kind: "systemEvent", text: "water the plants" },
  };
  await call(teamA, schedules.addSchedule, { job: job(fields) });
  const said = await until(async () => {
    const { messages } = await call(teamA, sessionHistory, { session: "main" }).catch(() => ({
      messages: [],
    }));
    return messages.length >= 2 && messages;
  });
  assert.equal(said[0]?.text, "water the plants");
  await call(teamA, schedules.wakeSchedules, {
    text: "good morning",
    mode: "now",
    agentId: "clerk",
  });
  await until(async () => {
    const { messages } = await call(teamA, sessionHistory, { session: "main" });
    return messages.some(({ text }) => text === "good morning");
  });
});

test("what waits for one heartbeat is one run, and each job has its own entry and webhook", async () => {
  const reported: string[] = [];
  const hook = createServer((request, response) => {
    reported.push(String(request.headers["idempotency-key"]));
    response.end();
  }).listen(0, "127.0.0.1");
  after(() => hook.close());
  await once(hook, "listening");
  const { port } = hook.address() as AddressInfo; // it listens on TCP
  // The test must fit between two heartbeats.
  await until(() => nextHeartbeat("team-a", HEARTBEAT_MS, Date.now()) - Date.now() > 2_000);
  const delivery = { mode: "webhook", to: `http://127.0.0.1:${port}/` };
  const fields = {
    sessionTarget: "main",
    wakeMode: "next-heartbeat",
    sessionKey: "beat",
    delivery,
  };
  const jobs = await Promise.all(
    ["plants", "post"].map(async (name) => {
      const payload = { kind: "systemEvent", text: `look after the ${name}` };
      const schedule = { kind: "at", at: new Date().toISOString() };
      const asked = job({ ...fields, name, payload, schedule });
      return (await call(teamA, schedules.addSchedule, { job: asked })).job;
    }),
  );
  const entries = await until(async () => {
    const logs = await Promise.all(
      jobs.map(({ id }) => call(teamA, schedules.scheduleRuns, { jobId: id })),
    );
    const ended = logs.flatMap((log) => log.entries);
    return ended.length === 2 && ended;
  });
  assert.deepEqual(
    entries.map(({ status }) => status),
    ["ok", "ok"],
  );
  assert.equal(new Set(entries.map(({ runId }) => runId)).size, 1);
  assert.equal(new Set(reported).size, 2);
  const { messages } = await call(teamA, sessionHistory, { session: "beat" });
  assert.deepEqual(messages.map(({ text }) => text.split("\n").toSorted()).at(0), [
    "",
    "[plants]",
    "[post]",
    "look after the plants",
    "look after the post",
  ]);
  assert.equal(messages.length, 2, "one message and one answer");
});

test("a job of an agent that does not exist ends with an error that states it", async () => {
  const asked = job({ agentId: "nobody", schedule: { kind: "every", everyMs: 3_600_000 } });
  const { job: added } = await call(teamA, schedules.addSchedule, { job: asked });
  await call(teamA, schedules.runSchedule, { jobId: added.id });
  const [entry] = await until(async () => {
    const { entries } = await call(teamA, schedules.scheduleRuns, { jobId: added.id });
    return entries.length > 0 && entries;
  });
  assert.equal(entry?.status, "error");
  assert.match(entry?.error ?? "", /unknown_agent/);
});

test("a webhook gets the end once it answers, with one key for all attempts", async () => {
  const received: { key: string; body: Record<string, unknown> }[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      received.push({
        key: String(request.headers["idempotency-key"]),
        body: JSON.parse(text) as Record<string, unknown>,
      });
      response.writeHead(received.length === 1 ? 503 : 204).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const delivery = { mode: "webhook", to: `http://127.0.0.1:${port}/hook` };
  const { job: added } = await call(teamA, schedules.addSchedule, {
    job: job({ agentId: "loud", delivery }),
  });
  const [entry] = await until(async () => {
    const { entries } = await call(teamA, schedules.scheduleRuns, { jobId: added.id });
    return entries.length > 0 && entries;
  });
  assert.equal(entry?.deliveryStatus, "delivered");
  assert.equal(received.length, 2);
  assert.equal(received[0]?.key, received[1]?.key);
  assert.equal(received[1]?.body["output"], "a report");
});

test("an answer is announced in the name of the owner, and what was surely not sent is sent again", async () => {
  const asked: { onBehalfOf?: string | undefined; key: string; text: string; to: unknown }[] = [];
  const channels = serve(await connect("channels"), {
    name: "channels",
    version: "0.0.0",
    description: "Refuses the first message",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  after(() => channels.drain());
  channels.handle(sendChannelMessage, (request, { fail }) => {
    const { onBehalfOf, idempotencyKey: key = "", text, to } = request;
    asked.push({ onBehalfOf, key, text, to });
    const where = { channel: to.channel, accountId: "main" };
    if (to.target.id === "stranger") throw fail.not_allowed("not you", where);
    if (asked.length === 1) throw fail.rate_limited("slow down", { ...where, retryAfterMs: 1_000 });
    const address = { ...to, accountId: "main" };
    const sent = { sendId: `snd-${"0".repeat(32)}`, address, messageIds: ["1"], sentAt: null };
    const more = { handledBy: to.channel, dryRun: false, degraded: [], replayed: false };
    return { kind: "send" as const, ...sent, ...more };
  });
  let place: Address | null = null;
  const lastAsked: (string | undefined)[] = [];
  channels.handle(lastAddress, ({ onBehalfOf }) => {
    lastAsked.push(onBehalfOf);
    return { address: place };
  });
  const ended = async (fields: Record<string, unknown>) => {
    const every = { kind: "every", everyMs: 3_600_000 };
    const added = await call(teamA, schedules.addSchedule, {
      job: job({ schedule: every, ...fields }),
    });
    const { id: jobId } = added.job;
    await call(teamA, schedules.runSchedule, { jobId });
    const [entry] = await until(async () => {
      const { entries } = await call(teamA, schedules.scheduleRuns, { jobId });
      return entries.length > 0 && entries;
    });
    return entry;
  };
  const delivery = { mode: "announce", channel: "loopback", to: "user:ann" };
  const reported = await ended({ agentId: "loud", delivery });
  assert.deepEqual([reported?.status, reported?.deliveryStatus], ["ok", "delivered"]);
  assert.deepEqual(
    asked.map(({ onBehalfOf, text }) => [onBehalfOf, text]),
    [
      ["team-a", "a report"],
      ["team-a", "a report"],
    ],
  );
  assert.notEqual(asked[0]?.key, asked[1]?.key);
  assert.deepEqual(asked[1]?.to, { channel: "loopback", target: { kind: "user", id: "ann" } });

  const refused = await ended({ agentId: "loud", delivery: { ...delivery, to: "user:stranger" } });
  assert.deepEqual([refused?.status, refused?.deliveryStatus], ["error", "not-delivered"]);
  assert.match(refused?.error ?? "", /not_allowed: not you/);
  const last = { mode: "announce", channel: "last" };
  const nowhere = await ended({ agentId: "loud", delivery: last });
  assert.match(nowhere?.error ?? "", /no owner of an account of team-a has written in private yet/);
  const target = { kind: "user" as const, id: "boss" };
  place = { channel: "loopback", accountId: "main", target };
  const found = await ended({ agentId: "loud", delivery: last });
  assert.equal(found?.deliveryStatus, "delivered");
  assert.deepEqual(asked.at(-1)?.to, place);
  assert.deepEqual([...new Set(lastAsked)], ["team-a"]);

  const failed = await ended({ agentId: "nobody", delivery });
  assert.equal(failed?.deliveryStatus, "delivered");
  assert.equal(asked.at(-1)?.text, 'The job "report" failed (unknown_agent).');
});

test("200 jobs under kills of two schedulers: each due time ran once", async () => {
  const second = await startScheduler();
  const at = new Date(Date.now() + 3_000).toISOString();
  const fields = { deleteAfterRun: false, schedule: { kind: "at", at } };
  const added = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      call(teamB, schedules.addSchedule, { job: job({ ...fields, name: `job ${index}` }) }),
    ),
  );
  await until(() => Date.now() > Date.parse(at) + 150);
  for (let kills = 0; kills < 4; kills += 1) {
    await kill(scheduler);
    scheduler = await startScheduler();
  }
  await kill(second);
  const entries = await until(async () => {
    // A request may reach a scheduler whose end the server has not noticed yet: it times out.
    const pages = await Promise.all(
      [0, 200].map((offset) => call(teamB, schedules.scheduleRuns, { limit: 200, offset })),
    ).catch(() => []);
    const found = pages.flatMap((page) => page.entries);
    return found.length >= 200 && found;
  });
  assert.equal(entries.length, 200);
  assert.deepEqual([...new Set(entries.map(({ status }) => status))], ["ok"]);
  assert.equal(new Set(entries.map(({ jobId }) => jobId)).size, added.length);
  const { runs } = await call(teamB, listRuns, { limit: 200 });
  assert.equal(new Set(runs.map(({ runId }) => runId)).size, 200);
});

async function connect(user: string): Promise<Bus> {
  const bus = await connectBus({ servers: lab.nats.url, user });
  after(() => bus.close());
  return bus;
}

async function startScheduler(): Promise<SchedulerProcess> {
  const entry = join(import.meta.dirname, "../../services/scheduler/src/main.ts");
  const child = spawn(process.execPath, [entry], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      YARD_NATS_URL: lab.nats.url,
      YARD_REDIS_URL: lab.redis.url,
      YARD_HEALTH_PORT: "0",
      ...testConstants({ schedulesHeartbeatMs: HEARTBEAT_MS, schedulesPerCaller: 300 }),
      YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS: "loopback",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
  });
  const lines: string[] = [];
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      if (line.includes('"msg":"service ready"')) resolve();
    });
  });
  const early = exited.then(() => {
    throw new Error(`the scheduler ended before it was ready:\n${lines.join("\n")}`);
  });
  await Promise.race([ready, early]);
  early.catch(() => {}); // from here on its end is caused by the test
  return { child, exited };
}

async function kill({ child, exited }: SchedulerProcess): Promise<void> {
  child.kill("SIGKILL");
  await exited;
}
