import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { serve } from "@switchyard/bus/serve";
import { admitCall } from "@switchyard/contracts/approval-admission";
import { bindingDigest } from "@switchyard/contracts/approval-record";
import {
  approveCall,
  cancelApproval,
  denyCall,
  getApproval,
} from "@switchyard/contracts/approvals";
import { type CallContext, readCallContext } from "@switchyard/contracts/call-context";
import { isError } from "@switchyard/contracts/errors";
import { checkPolicy } from "@switchyard/contracts/policy";
import { mcpToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import { revokeGrant } from "@switchyard/contracts/session-grants";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { holdingRunner } from "../../test/holding-runner.ts";
import { startPolicyWorld } from "../../test/policy-world.ts";

const world = await startPolicyWorld({
  rules: `version: 1
rules:
  - { id: writes, effect: allow, approval: always, what: { tools: [files.write_file] } }
  - { id: reads, effect: allow, approval: session, what: { tools: [files.read_file] } }
`,
  teams: ["team-a"],
});
const runnerBus = await world.connectAs("runner");
const runner = await holdingRunner(runnerBus, world.redis.url);
const redis = await connectRedis({
  url: world.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => redis.disconnect());
const [broker, person] = [await world.connectAs("broker"), await world.connectAs("cli")];
await world.startReplica({ YARD_APPROVALS_PENDING: "3" });
const WRITE = mcpToolRef("files", "write_file");
const READ = mcpToolRef("files", "read_file");

async function tokenOf(runId: string, requester: string): Promise<string> {
  const about = { runId, agent: "demo", requester, tools: [], ttlSeconds: 600 };
  return (await runner.grantRun(about)).token;
}

/** Requests admission for a call of a separate run, right before it would be sent. */
async function admit(runId: string, requester: string) {
  return admitCallOf({ token: await tokenOf(runId, requester), callId: `${runId}:1`, tool: WRITE });
}

async function admitCallOf({
  token,
  callId,
  tool,
}: {
  token: string;
  callId: string;
  tool: ToolRef;
}) {
  const asked = { onBehalfOf: "runner", token, tool, args: { path: "a.txt" } };
  const { decision, principal } = await call(broker, checkPolicy, asked);
  const bound = { principal, caller: "runner", tool, pin: undefined, args: asked.args, decision };
  const binding = bindingDigest(bound);
  const attempt = randomUUID();
  return call(broker, admitCall, { ...asked, callId, decision, binding, attempt });
}

test("a user with many runs has a limited number of waiting calls, and calls of other users still wait", async () => {
  const [first] = [
    await admit("run-1", "team-a"),
    await admit("run-2", "team-a"),
    await admit("run-3", "team-a"),
  ];
  assert.ok(first.outcome === "waiting");
  const refused = await admit("run-4", "team-a");
  assert.ok(refused.outcome === "refused");
  assert.equal(refused.state, "rate_limited");
  assert.match(refused.reason, /^3 calls of team-a wait for an approval already/);
  assert.equal((await admit("run-5", "team-b")).outcome, "waiting");
  await call(person, denyCall, { id: first.approvalId });
  assert.equal((await admit("run-4", "team-a")).outcome, "waiting");
});

test("concurrent calls of a user get no more slots than there are", async () => {
  const together = Array.from({ length: 12 }, (_, index) => admit(`together-${index}`, "team-c"));
  const outcomes = (await Promise.all(together)).map(({ outcome }) => outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "waiting").length, 3, String(outcomes));
  assert.equal(outcomes.filter((outcome) => outcome === "refused").length, 9, String(outcomes));
});

async function waiting(runId: string, requester: string): Promise<string> {
  const admission = await admit(runId, requester);
  return admission.outcome === "waiting" ? admission.approvalId : assert.fail(admission.outcome);
}

test("a decision that carries the binding of another call decides nothing", async () => {
  const [seen, other] = [await waiting("run-seen", "team-d"), await waiting("run-next", "team-d")];
  const { approval } = await call(person, getApproval, { id: seen });
  const { binding } = approval;
  for (const contract of [approveCall, denyCall])
    await assert.rejects(call(person, contract, { id: other, binding }), (error) => {
      assert.ok(isError(error, approveCall, "binding_mismatch"));
      return error.data.expected !== binding;
    });
  const pending = await call(person, getApproval, { id: other });
  assert.equal(pending.approval.state, "pending");
  const approved = await call(person, approveCall, { id: seen, binding });
  assert.equal(approved.approval.state, "approved");
  await call(person, cancelApproval, { id: other });
});

test("only a user who may see an approval is shown its call's context, and no other caller makes the runner read it", async () => {
  const id = await waiting("run-shown", "cli");
  const read = () => call(person, getApproval, { id });
  assert.equal((await read()).context, null, "no runner answers");
  const context: CallContext = {
    agent: "demo",
    requester: "cli",
    input: "do it",
    modelText: "I write it down.",
    calls: [],
    earlierCalls: 0,
  };
  const asked: string[] = [];
  const onFault = ({ error }: { error: unknown }) => assert.ifError(error);
  const about = { name: "runner", version: "0.0.0", description: "has one run" };
  const runs = serve(runnerBus, { ...about, onFault });
  runs.handle(readCallContext, ({ runId, callId }) => {
    asked.push(`${runId} ${callId}`);
    return { context };
  });
  await runnerBus.flush();
  assert.deepEqual((await read()).context, context);
  const stranger = await world.connectAs("team-a");
  await assert.rejects(call(stranger, getApproval, { id }), { code: "unknown_approval" });
  const callId = "run-shown:1";
  for (const bus of [stranger, person])
    await assert.rejects(call(bus, readCallContext, { runId: "run-shown", callId }), {
      code: "forbidden",
    });
  assert.deepEqual(asked, [`run-shown ${callId}`]);
  await runs.drain();
  await call(person, cancelApproval, { id });
});

// The last test: for a second afterwards the policy still refuses new work.
test("people decide about waiting calls, and approved calls pass, while Redis is above its maxmemory", async () => {
  const [writer, reader] = [await tokenOf("full-1", "team-e"), await tokenOf("full-2", "team-f")];
  const calls = [
    { token: writer, callId: "full-1:yes", tool: WRITE },
    { token: writer, callId: "full-1:no", tool: WRITE },
    { token: writer, callId: "full-1:cancelled", tool: WRITE },
    { token: reader, callId: "full-2:session", tool: READ },
  ];
  const ids: string[] = [];
  for (const each of calls) {
    const asked = await admitCallOf(each);
    ids.push(asked.outcome === "waiting" ? asked.approvalId : assert.fail(asked.outcome));
  }
  const [yes = "", no = "", cancelled = "", session = ""] = ids;
  await redis.config("SET", "maxmemory", "1");
  try {
    await assert.rejects(redis.set("yard:test:{x}", "1"), /OOM/);
    await call(person, approveCall, { id: yes });
    await call(person, denyCall, { id: no });
    await call(person, cancelApproval, { id: cancelled });
    const { grant } = await call(person, approveCall, { id: session, scope: "session" });
    const outcomes = [];
    for (const each of [...calls, { token: reader, callId: "full-2:later", tool: READ }])
      outcomes.push((await admitCallOf(each)).outcome);
    assert.deepEqual(outcomes, ["passed", "refused", "refused", "passed", "passed"]);
    await call(person, revokeGrant, { id: grant?.id ?? assert.fail() });
    await assert.rejects(admitCallOf({ token: reader, callId: "full-2:new", tool: WRITE }));
  } finally {
    await redis.config("SET", "maxmemory", "0");
  }
});
