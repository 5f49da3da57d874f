import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { getRun, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const directory = await testDirectory();
const file = join(directory, "rules.yaml");
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };

const service = serve(await testBus(nats, "policy"), {
  name: "policy",
  version: "0.0.0",
  description: "A policy that denies",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(explainPolicy, ({ user, agent, tool, args }) => {
  const asked = `${tool.name} for ${agent ?? user} with ${JSON.stringify(args)}`;
  const failed = { part: "who.users", expected: "admin", got: user };
  return Promise.resolve({
    decision: { effect: "deny", rule: null, reason: `no: ${asked}`, policyDigest: DIGEST },
    principal: { user, agent: agent ?? null, runId: null },
    tool,
    considered: [{ rule: "admins", effect: "allow", match: false, failed }],
    omitted: 2,
    nearest: { rule: "admins", failed: [failed] },
  });
});
const runner = serve(await testBus(nats, "runner"), {
  name: "runner",
  version: "0.0.0",
  description: "One run",
  onFault: ({ error }) => assert.fail(String(error)),
});
runner.handle(getRun, ({ runId }, { fail }) => {
  if (runId !== "team-a~r1") throw fail.unknown_run(`there is no run ${runId}`, { runId });
  return Promise.resolve({ run: runOf(runId) });
});
service.handle(validatePolicy, () =>
  Promise.resolve({
    valid: true,
    policyDigest: DIGEST,
    rules: 1,
    problems: [],
    tests: [],
    findings: [],
  }),
);

function runOf(runId: string): RunDetail {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    runId,
    agent: "reviewer",
    requester: "team-a",
    model: "scripted/plan",
    status: "running",
    steps: 1,
    toolCalls: 1,
    attempts: 1,
    createdAt: at,
    updatedAt: at,
    labels: {},
    input: "x",
    output: null,
    failure: null,
    cancellation: null,
    skills: [],
    usage: { inputTokens: 1, outputTokens: 1 },
    agentDigest: DIGEST,
  };
}

test("explains a decision with its rules and what is missing; a denial is not a failure", async () => {
  const args = ["policy", "explain", "files.read_file", '{"path":"a"}', "--agent", "demo"];
  const { code, stdout, stderr } = await yard(args, env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^deny {2}no: mcp__files__read_file for demo with \{"path":"a"\}$/m);
  assert.match(stdout, /^admins +allow +no +who\.users +admin +cli$/m);
  assert.match(stdout, /^and 2 more rules that do not match$/m);
  assert.match(
    stdout,
    /^nearest allow rule: admins, .*\n {2}who\.users: got cli, expected admin$/m,
  );

  const json = await yard(["policy", "explain", "think", "--user", "team-a", "--json"], env);
  const { data } = JSON.parse(json.stdout) as { data: { principal: unknown; tool: unknown } }; // of the served peer
  assert.deepEqual(data.principal, { user: "team-a", agent: null, runId: null });
  assert.deepEqual(data.tool, { name: "think", server: null, tool: "think" });
});

test("explains a call of a run as its agent and its user, which options replace; an unknown run is not found", async () => {
  const explained = async (...options: string[]) => {
    const args = ["policy", "explain", "think", "--run", "team-a~r1", ...options, "--json"];
    const { stdout, stderr } = await yard(args, env);
    assert.notEqual(stdout, "", stderr);
    const { user, agent } = (JSON.parse(stdout) as { data: { principal: Record<string, unknown> } })
      .data.principal; // of the served peer
    return [user, agent];
  };
  assert.deepEqual(await explained(), ["team-a", "reviewer"]);
  assert.deepEqual(await explained("--user", "cli"), ["cli", "reviewer"]);
  assert.deepEqual(await explained("--agent", "demo"), ["team-a", "demo"]);
  const checked = await yard(["policy", "check", "think", "--run", "team-a~r1"], env);
  assert.match(checked.stdout, /no: think for reviewer/);
  const unknown = await yard(["policy", "explain", "think", "--run", "team-a~r2"], env);
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /there is no run team-a~r2/);
});

test("refuses patterns, bad names and bad arguments as usage", async () => {
  for (const args of [["files.*"], ["x", "[1]"], ["x", "{"], ["x", "--user", "No One"]]) {
    const { code, stderr } = await yard(["policy", "explain", ...args], env);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
  }
});

test("checks a file with the tests beside it, and fails when one fails or a rule is doubtful", async () => {
  const reads = "  - { id: reads, effect: allow, approval: auto, what: { tools: [read_file] } }\n";
  await writeFile(file, `version: 1\nrules:\n${reads}`);
  assert.equal((await yard(["policy", "test", file], env)).code, 0);
  assert.equal((await yard(["policy", "lint", file], env)).code, 0);

  const tests = "tests:\n  - { name: reads, given: { tool: read_file }, expect: deny }\n";
  await writeFile(join(directory, "rules.test.yaml"), tests);
  const tested = await yard(["policy", "test", file], env);
  assert.equal(tested.code, 1);
  assert.match(tested.stdout, /^✗ reads\n {2}\S*rules\.test\.yaml:2: expected deny, got allow/m);
  assert.match(tested.stderr, /^0 passed, 1 failed$/m);

  const wrong = "tests:\n  - { name: reads, given: { tool: read_file }, expected: allow }\n";
  await writeFile(join(directory, "rules.test.yaml"), wrong);
  const unread = await yard(["policy", "test", file], env);
  assert.equal(unread.code, 1);
  assert.match(unread.stdout, /^rules\.test\.yaml:2:\d+: .*did you mean "expect"\?$/m);
  assert.equal(unread.stderr, "2 problems to correct; no test ran\n");
  const aside = await yard(["policy", "test", join(directory, "rules.test.yaml")], env);
  assert.equal(aside.code, 2);
  assert.match(aside.stderr, /has the tests of a policy[^]*name the policy, .*rules\.yaml/);

  await rm(join(directory, "rules.test.yaml"));
  await writeFile(file, `version: 1\nrules:\n${reads}${reads.replace("reads", "again")}`);
  const linted = await yard(["policy", "lint", file], env);
  assert.equal(linted.code, 1);
  assert.match(linted.stdout, /again/);

  await writeFile(file, "version: 1\nrules:\n  - { id: 7 }\n");
  const bad = await yard(["policy", "lint", file], env);
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /rules\.yaml:3:\d+: /);
});

test("without a file asks about the policy in force, and a file that is not there is not found", async () => {
  assert.equal((await yard(["policy", "test"], env)).code, 0);
  const { code, stderr } = await yard(["policy", "test", join(directory, "none.yaml")], env);
  assert.equal(code, 3);
  assert.match(stderr, /there is no policy file/);
});
