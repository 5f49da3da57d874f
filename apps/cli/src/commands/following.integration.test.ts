import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import {
  instanceProcesses,
  yard,
  yardDev,
  yardEnvironment,
  yardStarted,
} from "../../test-fixtures/yard-process.ts";

// Commands that follow or stream end: at a closed pipe, at their deadline, and where there is nothing to follow. All run on one
// instance with a project of its own, on which nothing happens by itself.
const MAIN = join(import.meta.dirname, "..", "main.ts");
/** A command that has to end ends within this time, on a busy machine too. */
const ENDS_WITHIN_MS = 60_000;

/** Elsewhere a closed pipe is noticed at the next line. */
const skip = process.platform === "linux" ? false : "needs the tail of GNU coreutils";

const directory = tempDirectory();
const project = join(directory, "project");
mkdirSync(join(project, "agents"), { recursive: true });
writeFileSync(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
writeFileSync(
  join(project, "policy.yaml"),
  `version: 1
rules:
  - { id: ask, effect: allow, approval: always, what: { tools: [memory_write] } }
`,
);
writeFileSync(
  join(project, "agents", "reviewer.md"),
  `---
name: reviewer
description: answers
model: scripted/plan
plan: { steps: [], answer: done }
---
You review.
`,
);
const env = yardEnvironment(join(directory, "state"));
const dev = yardDev(["--project", project, "--workspace", directory, "--processes"], env);

before(async () => {
  await dev.printed("Ctrl-C stops everything");
  for (const name of ["one", "two"]) {
    const asked = ["tools", "call", "memory_write", JSON.stringify({ name, content: "x" })];
    assert.equal((await yard(asked, env)).code, 5, "a person has to approve it");
  }
});

test("yard dev recommends an agent that the project has", () => {
  assert.match(dev.output(), /^ {2}(?:'[^']*yard'|\S*yard) run reviewer /m);
  assert.match(dev.output(), /yard\.cmd\.me\.run\.start\.reviewer /);
  assert.ok(!dev.output().includes("run demo"), dev.output());
});

for (const args of [
  ["audit", "tail"],
  ["audit", "export"],
  ["approvals", "watch"],
  ["approvals", "watch", "--json"],
]) {
  test(`yard ${args.join(" ")} | head ends, though nothing more happens`, { skip }, async () => {
    const { output, code } = await intoHead(args);
    assert.equal(output.trimEnd().split("\n").length, 1, output);
    assert.equal(code, 0);
  });
}

test("approvals watch --once prints what waits and ends", async () => {
  const { code, stdout } = await yard(["approvals", "watch", "--once"], env);
  assert.equal(code, 0);
  assert.equal(stdout.match(/memory_write/g)?.length, 2, stdout);
});

test("audit tail and approvals watch end at Ctrl-C with 130", async () => {
  for (const [args, text] of [
    [["audit", "tail"], "chain started"],
    [["approvals", "watch"], "nothing else waits"],
  ] as const) {
    const following = yardStarted(args, env);
    await following.printed(text);
    following.kill("SIGINT");
    assert.equal(await following.exited, 130, args.join(" "));
  }
});

test("an unknown run is reported after a moment, by all commands that follow one", async () => {
  for (const args of [
    ["runs", "tail", "nope", "--wait", "1"],
    ["runs", "events", "nope", "--follow", "--wait", "1"],
    ["runs", "tail", "nope"],
  ]) {
    const { code, stderr } = await yard(args, env);
    assert.equal(code, 3, args.join(" "));
    assert.match(stderr, /run nope is still unknown after \d+ seconds?: there is no such run/);
    assert.match(stderr, /\.\/yard runs list/);
  }
});

test("a run that waits in the queue is followed when it comes", async () => {
  const runner = pidOf("runner");
  process.kill(runner, "SIGSTOP");
  const { stdout } = await yard(["run", "reviewer", "hi", "--no-wait"], env);
  const tail = yardStarted(["runs", "tail", stdout.trim(), "--wait", "60"], env);
  await tail.printed("it may be in the queue");
  process.kill(runner, "SIGCONT");
  assert.equal(await tail.exited, 0);
  assert.match(tail.output(), /■ finished/);
});

test("run --wait-for 2 ends after 2 s when no runner takes the run", async () => {
  const runner = pidOf("runner");
  process.kill(runner, "SIGSTOP");
  try {
    const late = yardStarted(["run", "reviewer", "hi", "--wait-for", "2"], env);
    await late.printed("▸ queued");
    const began = performance.now();
    assert.equal(await late.exited, 7);
    const tookMs = performance.now() - began;
    assert.ok(tookMs < 30_000, `${tookMs} ms`);
  } finally {
    process.kill(runner, "SIGCONT");
  }
});

test("YARD_USER is the user on this machine's own instance, too", async () => {
  const asMe = { ...env, YARD_USER: "me" };
  const { stdout, code } = await yard(["run", "reviewer", "hi", "--no-wait"], asMe);
  assert.equal(code, 0);
  // Without --wait the command reports after 5 s that the run is unknown; on a busy machine its first event may take longer.
  const tail = await yard(["runs", "tail", stdout.trim(), "--wait", "60"], env);
  assert.equal(tail.code, 0, tail.stderr);
  const shown = await yard(["runs", "show", stdout.trim(), "--json"], env);
  assert.equal(JSON.parse(shown.stdout).data.run.requester, "me");
  const stranger = await yard(["runs", "list"], { ...env, YARD_USER: "team-x" });
  assert.equal(stranger.code, 2);
  assert.match(stranger.stderr, /no key of that user here\n.*it can be .*cli.*YARD_NATS_NKEY_FILE/);
});

test("yard dev stops in order when its log no longer has a reader", { skip }, async () => {
  const second = yardEnvironment(join(directory, "second"));
  const { code, stderr } = await intoHead(["dev", "--project", project, EXIT_WITH_PARENT], second);
  assert.equal(code, 0, stderr);
  const after = await yard(["runs", "list"], second);
  assert.match(after.stderr, /nothing runs for/);
});

function pidOf(name: string): number {
  const found = instanceProcesses(join(directory, "state")).find((part) => part.name === name);
  if (found === undefined) throw new Error(`no ${name} runs`);
  return found.pid;
}

/** Runs a command in a shell pipe whose reader leaves after one line. */
async function intoHead(args: readonly string[], variables = env) {
  const script = `{ "$0" "$@"; echo "code $?" >&2; } | head -n 1`;
  const child = spawn("sh", ["-c", script, process.execPath, MAIN, ...args], {
    env: variables,
    detached: true,
  });
  let [output, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const timer = setTimeout(() => {
    stderr += "\ndid not end";
    process.kill(-(child.pid ?? 0), "SIGKILL");
  }, ENDS_WITHIN_MS);
  await once(child, "close");
  clearTimeout(timer);
  const code = /code (\d+)/.exec(stderr)?.[1];
  return { output, stderr, code: code === undefined ? null : Number(code) };
}
