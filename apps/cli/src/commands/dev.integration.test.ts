import assert from "node:assert/strict";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { until } from "@switchyard/local-servers/until";
import { connect } from "nats";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import {
  instanceProcesses,
  survivors,
  yard,
  yardDev,
  yardEnvironment,
  yardStarted,
} from "../../test-fixtures/yard-process.ts";
import { writeChosenPorts } from "../dev/chosen-ports.ts";
import { findRunningInstance } from "../instance-record.ts";

// One instance for all tests that only use it; the last tests stop it, kill it and start it again.
const stateDir = join(tempDirectory(), "state");
const env = yardEnvironment(stateDir);
// Instances of other tests take the usual ports; while this one is dead they would take its own.
await mkdir(stateDir);
await writeChosenPorts(join(stateDir, "ports.json"), {
  nats: null,
  redis: null,
  http: await freePort(),
});
const dev = yardDev([], env);

before(() => dev.printed("Ctrl-C stops everything"));

test("says where everything is, which model answers and what to type next", () => {
  for (const part of [
    /NATS +nats:\/\/127\.0\.0\.1:\d+/,
    /files connected \(\d+ tools\)/,
    /no AI/,
  ]) {
    assert.match(dev.output(), part);
  }
});

test("shows no warning of Node.js, such as that of a function that will be removed", () => {
  assert.doesNotMatch(dev.output(), /\[DEP\d+\]|(?:Deprecation|Experimental)Warning|--trace-/);
});

test("says once that its user may approve its own calls", () => {
  assert.equal(dev.output().split("YARD_APPROVE_OWN=all").length, 2);
});

test("a second start is refused, names the process that runs, and disturbs nothing", async () => {
  const second = await yard(["dev", "--demo"], env);
  assert.equal(second.code, 1);
  assert.match(second.stderr, new RegExp(`already runs here: process ${dev.pid}, ready, nats://`));
  assert.deepEqual((await survivors(instanceProcesses(stateDir))).length, 3);
});

test("a run shows its story on stderr and its answer on stdout, and the policy's decisions in it", async () => {
  const { code, stdout, stderr } = await yard(["run", "demo", "What is here?"], env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /What is here\?/);
  assert.match(stderr, /▸ queued +\w+ for agent demo/);
  assert.match(stderr, /▸ started +demo on scripted\/plan — rule-based, no AI/);
  assert.match(stderr, /→ call +mcp__files__list_directory \{"path":"\."\}/);
  assert.match(stderr, /✓ allowed +rule demo-reads/);
  assert.match(stderr, /✗ denied +rule no-writes/);
  assert.match(stderr, /■ finished/);
  assert.ok(!stdout.includes("▸"));
});

test("with --json a run is lines of JSON, one for each event, numbered without a gap", async () => {
  const { code, stdout } = await yard(["run", "demo", "hi", "--json", "--label", "team=a"], env);
  assert.equal(code, 0);
  const events: { event: string; payload: { seq: number; labels?: object } }[] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(events[0]?.event, "run.started");
  assert.deepEqual(events[0]?.payload.labels, { team: "a" });
  assert.equal(events.at(-1)?.event, "run.finished");
  assert.deepEqual(
    events.map(({ payload }) => payload.seq),
    events.map((_, index) => index + 1),
  );
});

test("a run started without waiting can be followed, shown and listed", async () => {
  const { stdout } = await yard(["run", "demo", "hi", "--no-wait"], env);
  const runId = stdout.trim();
  const followed = await yard(["runs", "events", runId, "--follow", "--wait", "60"], env);
  assert.equal(followed.code, 0);
  assert.match(followed.stdout, /■ finished/);
  const shown = await yard(["runs", "show", runId, "--json"], env);
  assert.equal(JSON.parse(shown.stdout).data.run.status, "succeeded");
  const listed = await yard(["runs", "list", "--agent", "demo"], env);
  assert.ok(listed.stdout.includes(runId));
});

test("any NATS client can start a run with plain JSON, without credentials or headers", async () => {
  const url = /NATS +(nats:\/\/\S+)/.exec(dev.output())?.[1] ?? "";
  const nc = await connect({ servers: url });
  try {
    const runId = `plain-${process.pid}`;
    const body = JSON.stringify({ input: "hi", runId });
    await nc.request("yard.cmd.me.run.start.demo", body);
    const followed = await yard(
      ["runs", "events", `me~${runId}`, "--follow", "--json", "--wait", "60"],
      env,
    );
    assert.match(followed.stdout, /"event":"run\.finished"/);
  } finally {
    await nc.close();
  }
});

test("calls a tool under the policy: allowed is 0, denied and unknown are 4, an unknown server is 3", async () => {
  const echo = await yard(["mcp", "call", "everything", "echo", '{"message":"hi"}'], env);
  assert.deepEqual([echo.code, echo.stdout], [0, "Echo: hi\n"]);
  const write = await yard(
    ["mcp", "call", "files", "write_file", '{"path":"x","content":"y"}', "--json"],
    env,
  );
  assert.equal(write.code, 4);
  assert.equal(JSON.parse(write.stderr).error.code, "denied");
  // A caller without access to a tool does not learn whether it exists.
  assert.equal((await yard(["mcp", "call", "files", "nope"], env)).code, 4);
  const missing = await yard(["mcp", "call", "nope", "echo"], env);
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /known: .*everything/);
});

test("an unknown agent, run, skill or server is 3 and names what exists or where to look", async () => {
  const agent = await yard(["run", "nope", "hi"], env);
  assert.equal(agent.code, 3);
  assert.match(agent.stderr, /rejected +unknown_agent/);
  for (const args of [
    ["runs", "show", "nope"],
    ["runs", "events", "nope"],
    ["agents", "show", "nope"],
    ["skills", "show", "nope"],
    ["mcp", "tools", "nope"],
  ]) {
    const { code, stderr } = await yard(args, env);
    assert.equal(code, 3, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, /→ /);
  }
});

test("bad flags are 2", async () => {
  for (const args of [
    ["run"],
    ["run", "demo", "hi", "--nope"],
    ["run", "demo", "[1]", "--input-json"],
    ["run", "demo", "hi", "--model", "no slash"],
    ["mcp", "call", "files", "list_directory", "{"],
    ["runs", "list", "--status", "nope"],
  ]) {
    assert.equal((await yard(args, env)).code, 2, args.join(" "));
  }
});

test("lists agents, skills, tools, servers and services, each also as one JSON document", async () => {
  for (const [args, expected] of [
    [["agents", "list"], "demo"],
    [["agents", "show", "demo"], "scripted/plan"],
    [["skills", "list"], "summarise-files"],
    [["skills", "show", "summarise-files"], "Summarise"],
    [["skills", "render", "summarise-files", "a b"], "a b"],
    [["mcp", "list"], "files"],
    [["mcp", "tools", "files"], "mcp__files__read_text_file"],
    [["services"], "yard.rpc.*.policy.check"],
    [["doctor"], "JetStream"],
  ] as const) {
    const text = await yard(args, env);
    assert.equal(text.code, 0, text.stderr);
    assert.ok(text.stdout.includes(expected), `${args.join(" ")}: ${text.stdout}`);
    const json = await yard([...args, "--json"], env);
    const document = JSON.parse(json.stdout);
    assert.equal(document.schemaVersion, 1);
    assert.ok(JSON.stringify(document.data).includes(expected), args.join(" "));
  }
});

test("the doctor finds nothing wrong with a fresh instance", async () => {
  const { stdout } = await yard(["doctor", "--json"], env);
  const { checks } = JSON.parse(stdout).data;
  const bad = checks.filter(({ status }: { status: string }) => status === "failed");
  assert.deepEqual(bad, []);
});

test("streams ensure is safe to repeat and reports that nothing is to be done", async () => {
  const { code, stdout, stderr } = await yard(["streams", "ensure"], env);
  assert.deepEqual([code, stdout], [0, ""], stderr);
});

test("the demo uses the running instance and leaves it running", async () => {
  const { code, stderr } = await yard(["demo"], env);
  assert.equal(code, 0, stderr);
  assert.match(stderr, new RegExp(`running instance \\(process ${dev.pid}\\)`));
  assert.equal((await survivors(instanceProcesses(stateDir))).length, 3);
});

test("Ctrl-C and --wait-for end the following, not the run: 130 and 7", async (t) => {
  const runner = instanceProcesses(stateDir).find(({ name }) => name === "switchyard");
  process.kill(runner?.pid ?? 0, "SIGSTOP");
  t.after(() => process.kill(runner?.pid ?? 0, "SIGCONT"));
  const stories = [
    ["run", "demo", "hi"],
    ["run", "demo", "hi", "--wait-for", "1"],
  ].map((args) => yardStarted(args, env));
  const [interrupted, late] = stories;
  await interrupted?.printed("▸ queued");
  interrupted?.kill("SIGINT");
  assert.equal(await interrupted?.exited, 130);
  assert.match(
    interrupted?.output() ?? "",
    /the run continues\. See it with: \.\/yard runs show \w+/,
  );
  assert.equal(await late?.exited, 7);
  assert.match(late?.output() ?? "", /still queued: no runner took the run yet/);
  process.kill(runner?.pid ?? 0, "SIGCONT");
  const runId = /▸ queued +(\w+)/.exec(interrupted?.output() ?? "")?.[1] ?? "";
  assert.equal((await yard(["runs", "events", runId, "--follow", "--wait", "60"], env)).code, 0);
});

test("the process of the services and a server restart on the same port after a kill, a run in progress ends, and new runs work", async () => {
  const processes = instanceProcesses(stateDir);
  const inWork = yardStarted(["run", "demo", "hi"], env);
  await inWork.printed("▸ started");
  for (const name of ["switchyard", "nats"]) {
    process.kill(processes.find((part) => part.name === name)?.pid ?? 0, "SIGKILL");
    await dev.printed(`${name} is back`);
  }
  assert.equal(await inWork.exited, 0, inWork.output());
  const { code, stderr } = await yard(["run", "demo", "hi"], env);
  assert.equal(code, 0, stderr);
  assert.match(dev.output(), /warning: switchyard ended \(signal SIGKILL\); starting it again/);
});

test("a server whose restart cannot be recorded runs all the same, and the record is right as soon as it can be", async () => {
  const record = join(stateDir, "dev.json");
  const pidOf = (name: string): number =>
    instanceProcesses(stateDir).find((part) => part.name === name)?.pid ?? 0;
  const [redis, services] = [pidOf("redis"), pidOf("switchyard")];
  await rm(record);
  await mkdir(join(record, "in-the-way"), { recursive: true }); // refuses the record, as a full disk does
  process.kill(redis, "SIGKILL");
  await dev.printed("redis could not be recorded");
  await dev.printed("redis is back");
  await rm(record, { recursive: true });
  const backs = dev.output().split("switchyard is back").length;
  process.kill(services, "SIGKILL");
  await until(() => dev.output().split("switchyard is back").length > backs);
  await until(() => findRunningInstance(record));
  assert.notEqual(pidOf("redis"), redis);
  assert.equal((await yard(["runs", "list"], env)).code, 0);
  // A restart that has just been recorded may still be writing its draft.
  await until(
    async () => (await readdir(stateDir)).filter((name) => name.startsWith("dev.json.")),
    (drafts) => drafts.length === 0,
  );
});

test("SIGTERM stops everything in order, no process remains, and other commands report it", async () => {
  const processes = instanceProcesses(stateDir);
  dev.kill("SIGTERM");
  assert.equal(await dev.exited, 0);
  assert.deepEqual(await survivors(processes), []);
  const stopped = [...dev.output().matchAll(/ yard +(\w+) stopped/g)].map(([, name]) => name);
  assert.deepEqual(stopped, ["switchyard", "redis", "nats"]);
  const after = await yard(["runs", "list"], env);
  assert.equal(after.code, 6);
  assert.match(after.stderr, /nothing runs for the demo\n +→ .*\.\/yard dev --demo/);
});

test("after kill -9 the next start ends the left-overs and has the addresses, token and runs of before", async () => {
  const killed = yardDev([], env);
  await killed.printed("Ctrl-C stops everything");
  const natsUrl = /NATS +(nats:\/\/\S+)/.exec(killed.output())?.[1] ?? "";
  assert.ok(dev.output().includes(natsUrl), "a restart keeps the port");
  const processes = instanceProcesses(stateDir);
  // Stopped processes cannot notice that their parent is gone: real left-overs.
  for (const { name, pid } of processes) if (name === "switchyard") process.kill(pid, "SIGSTOP");
  killed.kill("SIGKILL");
  await killed.exited;

  const next = yardDev([], env);
  await next.printed("Ctrl-C stops everything");
  assert.deepEqual(await survivors(processes), []);
  assert.match(
    next.output(),
    /stopping switchyard \(process \d+\), left over from an earlier start/,
  );
  assert.ok(next.output().includes(natsUrl));
  const console = /console +(http:\/\/127\.0\.0\.1:\d+\/#token=yd_\S+)/.exec(killed.output())?.[1];
  assert.ok(console !== undefined && next.output().includes(console), next.output());
  const listed = await yard(["runs", "list", "--json"], env);
  assert.ok(JSON.parse(listed.stdout).data.runs.length > 0);

  const last = instanceProcesses(stateDir);
  next.kill("SIGINT");
  assert.equal(await next.exited, 0);
  assert.deepEqual(await survivors(last), []);
});
