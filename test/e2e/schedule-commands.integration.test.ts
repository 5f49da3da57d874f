import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment, yardStarted } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startYardDev } from "../lib/yard-dev.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-schedules-"));
const stateDir = join(directory, "state");
const dev = await startYardDev({ project: "test/e2e/mcp-stdio-project", stateDir });
after(async () => {
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});
const env = yardEnvironment(stateDir);

type Json = Record<string, unknown>;

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await yard(args, env);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

async function data(...args: string[]): Promise<Json> {
  return (JSON.parse(await said(...args, "--json")) as { data: Json }).data; // the envelope of every command
}

async function refused(code: number, text: RegExp, ...args: string[]): Promise<void> {
  const result = await yard(args, env);
  assert.equal(result.code, code, result.stderr);
  assert.match(result.stderr, text);
}

const jobOf = async (named: string): Promise<Json> =>
  (await data("schedules", "show", named))["job"] as Json; // as its contract says

test("a job is added, shown, changed, run, paused, resumed and removed by its name", async () => {
  assert.match((await yard(["schedules", "list"], env)).stderr, /no jobs; add one with/);
  const cron = ["--cron", "0 7 * * 1-5", "--tz", "Europe/Berlin"];
  const who = ["--agent", "helper", "--message", "what is new", "--max-time", "60"];
  const added = await said("schedules", "add", "morning report", ...cron, ...who);
  assert.match(added, /^when +0 7 \* \* 1-5 Europe\/Berlin$/m);
  assert.match(added, /^says +what is new$/m);
  assert.match(await said("schedules", "list"), /^job-\w+ +morning report +0 7 .*helper +2\d{3}-/m);

  await said(
    "schedules",
    "edit",
    "morning report",
    "--message",
    "tell me",
    "--overlap",
    "queue",
    "--thinking",
    "low",
  );
  await said("schedules", "edit", "morning report", "--stagger", "30s", "--name", "report");
  const { id, schedule, payload, overlap } = await jobOf("report");
  assert.deepEqual(schedule, {
    kind: "cron",
    expr: "0 7 * * 1-5",
    tz: "Europe/Berlin",
    staggerMs: 30_000,
  });
  assert.deepEqual(payload, {
    kind: "agentTurn",
    message: "tell me",
    timeoutSeconds: 60,
    thinking: "low",
  });
  assert.equal(overlap, "queue");

  await refused(1, /nothing was begun: it is not due/, "schedules", "run", "report", "--due");
  assert.match(await said("schedules", "run", "report"), /^cli~cron-/);
  await until(async () =>
    /ok .*You said tell me$/m.test(await said("schedules", "history", "report")),
  );
  assert.match(await said("schedules", "pause", "report"), /report: paused/);
  assert.match(await said("schedules", "list", "--state", "disabled"), / paused +ok$/m);
  assert.match(await said("schedules", "resume", String(id)), /report: resumed/);
  assert.match(await said("schedules", "remove", "report"), /is removed/);
  await refused(3, /there is no job report/, "schedules", "show", "report");
  // Its log stays.
  const { total } = await data("schedules", "history", String(id));
  assert.equal(total, 1);
});

test("a job that sends a message to a session, and one without any delivery target left", async () => {
  const every = ["--every", "1d", "--agent", "helper"];
  await said("schedules", "add", "plants", ...every, "--text", "water them", "--paused");
  const { sessionTarget, enabled } = await jobOf("plants");
  assert.deepEqual([sessionTarget, enabled], ["main", false]);
  await said("schedules", "edit", "plants", "--message", "water", "--webhook", "https://x.example");
  const changed = await jobOf("plants");
  assert.deepEqual(
    [changed["sessionTarget"], changed["delivery"]],
    ["isolated", { mode: "webhook", to: "https://x.example" }],
  );
  await said("schedules", "edit", "plants", "--no-delivery");
  assert.equal((await jobOf("plants"))["delivery"], undefined);
  assert.match(await said("__complete", "schedules", "show", "pl"), /^plants$/m);
  await said("schedules", "remove", "plants");
});

test("what a job answers is said where its account is", async () => {
  const who = ["--every", "1d", "--agent", "helper", "--message", "hello"];
  await said("schedules", "add", "greeter", ...who, "--announce", "loopback", "--to", "group:home");
  assert.match(
    await said("schedules", "show", "greeter"),
    /^tells +announce loopback group:home$/m,
  );
  await said("schedules", "run", "greeter");
  await until(async () =>
    / ok .* delivered .*You said hello$/m.test(await said("schedules", "history", "greeter")),
  );
  await said("schedules", "remove", "greeter");
});

test("what does not fit together is a usage error, and nothing is added", async () => {
  const add = ["schedules", "add", "x"];
  await refused(2, /one of --at, --every and --cron/, ...add, "--message", "hi");
  await refused(2, /one of --message and --text/, ...add, "--every", "1h");
  await refused(2, /30s, 15m, 6h or 1d/, ...add, "--every", "1w", "--message", "hi");
  await refused(2, /belong to --cron/, ...add, "--tz", "UTC", "--message", "hi");
  await refused(
    2,
    /--announce needs --to/,
    ...add,
    "--every",
    "1h",
    "--message",
    "hi",
    "--announce",
    "x",
  );
  await refused(2, /agentId is required/, ...add, "--every", "1h", "--message", "hi");
  await refused(2, /schedule/, ...add, "--cron", "x", "--agent", "helper", "--message", "hi");
  await refused(3, /unknown cron job id: job-0{16}/, "schedules", "pause", `job-${"0".repeat(16)}`);
  assert.equal((await data("schedules", "list"))["total"], 0);
});

test("accounts are listed and checked, and messages are sent and followed", async () => {
  assert.match(await said("channels", "list"), /^loopback\/default +cli .*send reply/m);
  assert.match(await said("channels", "check"), /^ok +loopback\/default/m);
  await refused(3, /known: loopback\/default/, "channels", "check", "telegram");
  const tail = yardStarted(["channels", "tail"], env);
  await tail.printed("waiting for messages");
  const sent = await said("channels", "send", "loopback", "user:ann", "dinner", "--key", "k1");
  assert.match(sent, /^sent: loopback\/default user:ann \S+$/m);
  const again = await said("channels", "send", "loopback", "user:ann", "dinner", "--key", "k1");
  assert.match(again, /^was sent before: /);
  await tail.printed("dinner");
  assert.match(tail.output(), / sent +loopback\/default user:ann +cli: dinner$/m);
  tail.kill("SIGINT");
  assert.equal(await tail.exited, 130);
  const dry = ["channels", "send", "loopback/default", "group:team", "hi", "--dry-run"];
  assert.match(await said(...dry), /^could be sent: loopback\/default group:team$/m);
  await refused(2, /no effect snow/, ...dry, "--effect", "snow");
  assert.match(await said("__complete", "channels", "send", "loop"), /^loopback\/default$/m);
});
