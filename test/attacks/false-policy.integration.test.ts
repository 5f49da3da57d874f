import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { ensureStreams } from "@switchyard/bus/streams";
import { until } from "@switchyard/local-servers/until";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { monitorRedisUser } from "@switchyard/topology/redis-access";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { readSeed, seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { startServiceProcess } from "../lib/service-process.ts";

// A real broker and a real toolbox; the policy, with its key, is replaced by a responder that returns the test's answers.
const directory = await testDirectory();
const keys = await ensureKeys(join(directory, "keys"));
const [nats, redis] = await Promise.all([
  testNats({ authorization: keys.authorization({ anonymous: true }) }),
  testRedis({
    access: {
      acl: keys.redis.acl,
      probeUser: monitorRedisUser.name,
      probePassword: keys.redis.password(monitorRedisUser.name),
    },
  }),
]);
const connect = (user: string) =>
  connectBus({ servers: nats.url, user, nkeySeed: () => readSeed(seedFile(keys.path, user)) });
const [admin, policy, cli] = await Promise.all([
  connect("admin"),
  connect("policy"),
  connect("cli"),
]);
after(() => Promise.all([admin.close(), policy.close(), cli.close()]));
await ensureStreams(admin);

const workspace = join(directory, "workspace");
const callsFile = join(workspace, "calls");
await mkdir(workspace);
const countingServer = fileURLToPath(
  new URL("../e2e/fixtures/counting-server.ts", import.meta.url),
);
const serversFile = join(directory, "mcp-servers.json");
await writeFile(
  serversFile,
  JSON.stringify({
    mcpServers: {
      counting: {
        command: process.execPath,
        args: [countingServer],
        env: { CALLS_FILE: callsFile },
      },
    },
  }),
);
const common = (user: string): Record<string, string> => ({
  YARD_NATS_URL: nats.url,
  YARD_NATS_NKEY_FILE: seedFile(keys.path, user),
  YARD_REDIS_URL: `redis://${user}@${redis.host}:${redis.port}`,
  YARD_KEYS_DIR: keys.path,
});

/** The reply to a request to the policy: raw bytes, or none at all. */
let answer: string | null = null;
const questions: string[] = [];
for (const subject of ["yard.rpc.*.policy.>", "yard.rpc.*.approvals.>"])
  for (const verb of ["check", "filter", "admit", "stops", "settle", "release"])
    connectionOf(policy).nc.subscribe(subject.replace(">", verb), {
      queue: subject.includes("approvals") ? "approvals" : "policy",
      callback: (error, message) => {
        if (error !== null) return; // a verb of the other group
        questions.push(message.subject);
        if (answer !== null) message.respond(answer);
      },
    });
await policy.flush();

await Promise.all([
  startServiceProcess("mcp-broker", {
    ...common("broker"),
    YARD_MCP_SERVERS_FILE: serversFile,
    YARD_MCP_SANDBOX: "off",
    YARD_STATE_DIR: join(directory, "state"),
  }),
  startServiceProcess("toolbox", { ...common("toolbox"), YARD_WORKSPACE: workspace }),
]);

await until(async () => {
  const { servers } = await call(cli, listServers, {});
  return servers.some(({ status }) => status === "connected");
});

const DIGEST = `sha256:${"0".repeat(64)}`;
const principal = { user: "cli", agent: null, runId: null };
const allow = { effect: "allow", rule: "r", reason: "because", policyDigest: DIGEST };
const ok = (value: unknown): string => JSON.stringify({ ok: true, value });

async function outcomesOfCalls(): Promise<unknown[]> {
  const written = { path: "written", content: "x" };
  const calls = [
    call(
      cli,
      callTool,
      { tool: "append", args: { line: "called" } },
      { tokens: { server: "counting" } },
    ),
    call(cli, callBuiltin, { tool: "write_file", args: written }),
  ];
  const settled = await Promise.allSettled(calls);
  return settled.map((result) => (result.status === "fulfilled" ? result.value : result.reason));
}

/** Both providers refused, and neither the file of calls nor the written file is there. */
async function assertNothingHappens(what: string): Promise<void> {
  const before = questions.length;
  for (const outcome of await outcomesOfCalls()) {
    assert.ok(outcome instanceof ServiceError, `${what}: ${JSON.stringify(outcome)}`);
    assert.equal(outcome.code, "policy_unavailable", what);
  }
  assert.ok(questions.length >= before + 2, `${what}: the policy was not asked`);
  assert.equal(existsSync(callsFile), false, what);
  assert.equal(existsSync(join(workspace, "written")), false, what);
}

const rubbish: Record<string, string> = {
  "no bytes": "",
  "no JSON": "allow",
  null: "null",
  "a word": '"allow"',
  "a list": '[{"ok":true}]',
  "an empty object": "{}",
  "yes without a value": '{"ok":true}',
  "yes with an empty value": ok({}),
  "a bare effect": ok({ effect: "allow" }),
  "a decision without a rule": ok({ decision: { effect: "allow" }, principal }),
  "an effect in capitals": ok({ decision: { ...allow, effect: "ALLOW" }, principal }),
  "an effect that is true": ok({ decision: { ...allow, effect: true }, principal }),
  "an effect that is a list": ok({ decision: { ...allow, effect: ["allow"] }, principal }),
  "an unknown effect": ok({ decision: { ...allow, effect: "allow-once" }, principal }),
  "no digest of the rules": ok({ decision: { ...allow, policyDigest: "none" }, principal }),
  "no principal": ok({ decision: allow }),
  "a principal without a name": ok({ decision: allow, principal: { ...principal, user: "" } }),
  "yes about another user": ok({ decision: allow, principal: { ...principal, user: "team-b" } }),
  "ok as text": JSON.stringify({ ok: "true", value: { decision: allow, principal } }),
  "an answer that is not wrapped": JSON.stringify({ decision: allow, principal }),
  "an error that is not declared": JSON.stringify({ ok: false, code: "x", message: "x", data: {} }),
  "a fault": JSON.stringify({ ok: false, code: "internal", message: "x", data: null }),
  "half of an answer": ok({ decision: allow, principal }).slice(0, -5),
  "an answer with a second one behind": `${ok({ decision: allow, principal })}{}`,
};

for (const [what, text] of Object.entries(rubbish))
  test(`a policy that answers ${what} executes nothing, in the broker and in the toolbox [ER1]`, async () => {
    answer = text;
    await assertNothingHappens(what);
  });

test("a policy without an answer executes nothing, nor does an answer that comes too late [ER1]", async () => {
  answer = null;
  const late: (() => void)[] = [];
  const slow = connectionOf(policy).nc.subscribe("yard.rpc.*.policy.check", {
    queue: "policy",
    callback: (error, message) => {
      if (error !== null) return;
      questions.push(message.subject);
      late.push(() => message.respond(ok({ decision: allow, principal })));
    },
  });
  await policy.flush();
  await assertNothingHappens("silence");
  for (const respond of late) respond();
  await policy.flush();
  slow.unsubscribe();
  answer = "{}";
  // Effects of the late answers would be done before these two are refused.
  await assertNothingHappens("late answers");
});

test("the same calls happen once the policy answers as it should", async () => {
  answer = ok({ decision: allow, principal });
  for (const outcome of await outcomesOfCalls())
    assert.ok(!(outcome instanceof Error), String(outcome));
  assert.ok(existsSync(callsFile));
  assert.ok(existsSync(join(workspace, "written")));
});
