import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import * as schedules from "@switchyard/contracts/scheduler/schedules";
import { until } from "@switchyard/local-servers/until";
import { connect as connectPlain } from "nats";
import { answering } from "../../services/agent-runner/test-fixtures/fake-services.ts";
import { startLab } from "../../services/agent-runner/test-fixtures/runner-lab.ts";

// A real scheduler with a triggers.yaml, a real runner, and the runner's own dependencies.
const lab = await startLab();
lab.services.agents.set("clerk", answering("clerk", "done"));
const [teamA, teamB] = await Promise.all([connect("team-a"), connect("team-b")]);
await lab.runner({ YARD_RUNNER_SLOTS: "16" });
const directory = mkdtempSync(join(tmpdir(), "yard-triggers-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const file = join(directory, "triggers.yaml");
const plain = await connectPlain({ servers: lab.nats.url.split(",") });
after(() => plain.close());
const jetstream = plain.jetstream();
const manager = await plain.jetstreamManager();
await manager.streams.add({ name: "RETURNS", subjects: ["shop.returns.>"] });

interface SchedulerProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly lines: string[];
}

function declare(...triggers: readonly string[]): void {
  const base = "    owner: team-a\n    agent: clerk\n";
  writeFileSync(
    file,
    `version: 1\ntriggers:\n${triggers.map((text) => `${text}\n${base}`).join("")}`,
  );
}

const hourly = (input: string, everyMs = 3_600_000) =>
  `  - id: hourly\n    schedule: { kind: every, everyMs: ${everyMs} }\n    input: ${input}`;
const soon = (at: string) =>
  `  - id: soon\n    schedule: { kind: at, at: "${at}" }\n    input: now`;
const orders = `  - id: orders
    message:
      subject: shop.orders.*.paid
      when: [{ field: /body/total, op: gte, value: 100 }]
      dedupe: "{{/body/id}}"
    input: "Order {{/tokens/2}}: {{/body/items}}"`;
const returns = `  - id: returns
    message: { subject: "shop.returns.>", stream: RETURNS, concurrency: 2 }
    input: "{{/body}}"`;

async function declaredJobs() {
  const { jobs } = await call(teamA, schedules.listSchedules, { enabled: "all" });
  return new Map(
    jobs.flatMap((job) => (job.declaredAs === undefined ? [] : [[job.declaredAs, job]])),
  );
}

async function jobIdOf(name: string): Promise<string> {
  const job = (await declaredJobs()).get(name);
  assert.ok(job, `trigger ${name} is a job`);
  return job.id;
}

async function log(name: string) {
  const jobId = await jobIdOf(name);
  return (await call(teamA, schedules.scheduleRuns, { jobId, limit: 200 })).entries;
}

test("jobs follow the file over starts of the scheduler, and jobs that a user added stay", async () => {
  declare(hourly("first"), orders);
  const first = await startScheduler();
  const { job: own } = await call(teamA, schedules.addSchedule, {
    job: schedules.ScheduleJobInput.parse({
      name: "own",
      agentId: "clerk",
      schedule: { kind: "every", everyMs: 3_600_000 },
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message: "mine" },
    }),
  });
  const declared = await declaredJobs();
  assert.deepEqual([...declared.keys()].toSorted(), ["hourly", "orders"]);
  const jobId = declared.get("hourly")?.id ?? "";
  const kept = { code: "invalid_job", message: /is declared as hourly in triggers\.yaml/ };
  await assert.rejects(call(teamA, schedules.removeSchedule, { jobId }), kept);
  await assert.rejects(
    call(teamA, schedules.updateSchedule, { jobId, patch: { name: "x" } }),
    kept,
  );
  await assert.rejects(
    call(teamA, schedules.runSchedule, { jobId: declared.get("orders")?.id ?? "" }),
    {
      message: /messages begin the runs of orders: publish one on shop\.orders/,
    },
  );
  await assert.rejects(call(teamB, schedules.getSchedule, { jobId }), { code: "unknown_job" });
  const { job: paused } = await call(teamA, schedules.updateSchedule, {
    jobId,
    patch: { enabled: false },
  });

  await stop(first);
  const second = await startScheduler();
  assert.deepEqual(
    (await declaredJobs()).get("hourly"),
    paused,
    "what is declared as before is not touched",
  );

  await stop(second);
  declare(hourly("second"));
  const third = await startScheduler();
  const left = await declaredJobs();
  assert.deepEqual([...left.keys()], ["hourly"]);
  const changed = left.get("hourly");
  assert.deepEqual(
    [changed?.id, changed?.payload.message, changed?.enabled],
    [jobId, "second", true],
  );
  const { job: untouched } = await call(teamA, schedules.getSchedule, { jobId: own.id });
  assert.deepEqual(untouched, own);

  await stop(third);
  const fourth = await startScheduler(null);
  assert.deepEqual([...(await declaredJobs()).keys()], [], "without a file there is none");
  await stop(fourth);
});

test("a file with a mistake stops the start, with its line and what would be right", async () => {
  writeFileSync(file, "version: 1\ntriggers:\n  - id: a\n    onwer: cli\n");
  const { exited, lines } = launch(file);
  const [code] = (await exited) as [number];
  assert.notEqual(code, 0);
  assert.match(
    lines.join("\n"),
    /triggers\.yaml:4:5: unknown key \\"onwer\\" in triggers\[0\]; did you mean \\"owner\\"\?/,
  );
});

test("a schedule begins runs of its owner, and an at that has run does not run again at the next start", async () => {
  // Longer than a start takes on a busy machine: a time that is over when it is declared is skipped.
  declare(soon(new Date(Date.now() + 20_000).toISOString()));
  const first = await startScheduler();
  const [entry] = await until(async () => {
    const entries = await log("soon");
    return entries.length > 0 && entries;
  });
  assert.deepEqual([entry?.status, entry?.summary], ["ok", "done"]);
  const { run } = await call(teamA, getRun, { runId: entry?.runId ?? "" });
  assert.deepEqual([run.requester, run.agent], ["team-a", "clerk"]);
  await stop(first);
  const second = await startScheduler();
  assert.equal((await declaredJobs()).get("soon")?.enabled, false);
  assert.equal((await log("soon")).length, 1);
  await stop(second);
});

test("a message on a subject begins one run of the owner, with two schedulers and when it comes twice", async () => {
  declare(orders);
  const schedulers = [await startScheduler(), await startScheduler()];
  const order = JSON.stringify({ id: "o-17", items: ["Lamp"], total: 160 });
  for (let count = 0; count < 5; count += 1) plain.publish("shop.orders.17.paid", order);
  plain.publish("shop.orders.18.paid", JSON.stringify({ id: "o-18", items: [], total: 5 }));
  plain.publish("shop.orders.19.paid", JSON.stringify({ id: "o-19", total: 500 }));
  await plain.flush();
  const entries = await until(async () => {
    const found = await log("orders");
    return found.length >= 2 && found;
  });
  const [ran, ...more] = entries.filter(({ status }) => status === "ok");
  assert.equal(more.length, 0);
  const { run } = await call(teamA, getRun, { runId: ran?.runId ?? "" });
  assert.deepEqual(
    [run.requester, run.agent, run.input],
    ["team-a", "clerk", 'Order 17: ["Lamp"]'],
  );
  assert.deepEqual(
    entries.filter(({ status }) => status === "skipped").map(({ error }) => error),
    ['input: pointer /body/items finds nothing at "items"; there is id, total'],
  );
  // The run has ended, and a repeat of its message is still a duplicate.
  plain.publish("shop.orders.17.paid", order);
  plain.publish("shop.orders.20.paid", JSON.stringify({ id: "o-20", items: [], total: 100 }));
  await plain.flush();
  await until(
    async () => (await log("orders")).filter(({ status }) => status === "ok").length >= 2,
  );
  assert.equal((await log("orders")).filter(({ status }) => status === "ok").length, 2);
  await assert.rejects(call(teamB, getRun, { runId: ran?.runId ?? "" }), { code: "unknown_run" });
  for (const one of schedulers) await stop(one);
});

test("each message of a stream begins one run, under kills of the scheduler and while it is away", async () => {
  declare(returns);
  let scheduler = await startScheduler();
  const jobId = await jobIdOf("returns");
  await until(
    async () =>
      (await manager.consumers.info("RETURNS", `yard-${jobId}`).catch(() => null)) !== null,
  );
  const publish = (text: string) =>
    jetstream.publish("shop.returns.1", new TextEncoder().encode(text));
  for (let count = 0; count < 20; count += 1) {
    await publish(`return ${count}`);
    if (count % 8 === 4) {
      await kill(scheduler);
      await publish(`while away ${count}`);
      scheduler = await startScheduler();
    }
  }
  const ok = await until(async () => {
    const found = (await log("returns")).filter(({ status }) => status === "ok");
    return found.length >= 22 && found;
  });
  assert.equal(new Set(ok.map(({ runId }) => runId)).size, 22);
  const { runs } = await call(teamA, listRuns, { limit: 200 });
  const inputs = runs.filter(({ runId }) => runId.includes("~trig-")).map(({ runId }) => runId);
  assert.equal(inputs.filter((runId) => runId.includes(jobId.slice("job-".length))).length, 22);
  await until(
    async () => (await manager.consumers.info("RETURNS", `yard-${jobId}`)).num_ack_pending === 0,
  );

  const setEnabled = (enabled: boolean) =>
    call(teamA, schedules.updateSchedule, { jobId, patch: { enabled } });
  await setEnabled(false);
  await publish("while paused");
  await until(
    async () => (await manager.consumers.info("RETURNS", `yard-${jobId}`)).num_ack_pending === 1,
  );
  assert.equal((await log("returns")).length, 22);
  await setEnabled(true);
  await until(async () => (await log("returns")).length === 23);
  await stop(scheduler);
});

async function connect(user: string): Promise<Bus> {
  const bus = await connectBus({ servers: lab.nats.url, user });
  after(() => bus.close());
  return bus;
}

function launch(triggers: string | null): SchedulerProcess {
  const entry = join(import.meta.dirname, "../../services/scheduler/src/main.ts");
  const child = spawn(process.execPath, [entry], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      YARD_NATS_URL: lab.nats.url,
      YARD_REDIS_URL: lab.redis.url,
      YARD_HEALTH_PORT: "0",
      ...(triggers !== null && { YARD_TRIGGERS_FILE: triggers }),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return { child, exited, lines };
}

async function startScheduler(triggers: string | null = file): Promise<SchedulerProcess> {
  const started = launch(triggers);
  const { child, lines } = started;
  await until(() => {
    const text = lines.join("\n");
    assert.equal(child.exitCode, null, `the scheduler ended before it was ready:\n${text}`);
    return text.includes('"msg":"service ready"');
  });
  return started;
}

async function stop({ child, exited }: SchedulerProcess): Promise<void> {
  child.kill("SIGTERM");
  await exited;
  assert.equal(child.exitCode, 0);
}

async function kill({ child, exited }: SchedulerProcess): Promise<void> {
  child.kill("SIGKILL");
  await exited;
}
