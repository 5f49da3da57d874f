import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { serve } from "@switchyard/bus/serve";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import {
  approvalStates,
  approveCall,
  cancelApproval,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { votesText } from "@switchyard/contracts/policy/approval-words";
import { type CallContext, readCallContext } from "@switchyard/contracts/agent-runner/call-context";
import { isError } from "@switchyard/contracts/errors";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { mcpToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import { revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { holdingRunner } from "../../test/holding-runner.ts";
import { startPolicyWorld } from "../../test/policy-world.ts";

const world = await startPolicyWorld({
  rules: `version: 1
rules:
  - { id: writes, effect: allow, approval: always, what: { tools: [files.write_file] } }
  - id: pays
    effect: allow
    approval: session
    what: { tools: [bank.pay] }
    approve: { from: ["group:leads"], count: 2, notRequester: true }
  - id: moves
    effect: allow
    what: { tools: [bank.move] }
    approve: { from: [ann], within: 1m, reason: required, escalate: { after: 1s, to: [ben] } }
  - { id: reads, effect: allow, approval: session, what: { tools: [files.read_file] } }
  - id: reports
    effect: allow
    approval: auto
    what: { tools: [bank.report] }
    when: [{ after: { tools: [files.write_file], in: run, outcome: approved } }]
  - id: closed
    effect: deny
    what: { tools: [bank.report] }
    when: [{ after: { tools: [files.write_file], in: run, outcome: denied } }]
groups:
  - { id: leads, users: [ann, ben] }
`,
  teams: ["team-a", "ann", "ben"],
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
const [ann, ben] = [await world.connectAs("ann"), await world.connectAs("ben")];
await world.startReplica({}, { approvalsPendingPerUser: 3 });
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

test("the decision of a person about a call counts for the rules about approved and denied calls", async () => {
  const report = async (runId: string) => {
    const token = await tokenOf(runId, "team-h");
    const asked = { onBehalfOf: "runner", token, tool: mcpToolRef("bank", "report"), args: {} };
    const { decision } = await call(broker, checkPolicy, asked);
    return [decision.effect, decision.rule];
  };
  const id = await waiting("run-approved", "team-h");
  assert.equal((await report("run-approved"))[0], "deny");
  await call(person, approveCall, { id });
  assert.equal((await report("run-approved"))[0], "deny", "the call has not passed yet");
  assert.equal((await admit("run-approved", "team-h")).outcome, "passed");
  assert.deepEqual(await report("run-approved"), ["allow", "reports"]);

  const denied = await waiting("run-refused", "team-h");
  await call(person, denyCall, { id: denied });
  assert.equal((await admit("run-refused", "team-h")).outcome, "refused");
  assert.deepEqual(await report("run-refused"), ["deny", "closed"]);
});

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

/** Requests admission for a call that needs people whom its rule names. */
async function waitingFor(tool: string, runId: string, requester: string) {
  const token = await tokenOf(runId, requester);
  const again = () => admitCallOf({ token, callId: `${runId}:1`, tool: mcpToolRef("bank", tool) });
  const admission = await again();
  const id = admission.outcome === "waiting" ? admission.approvalId : assert.fail();
  return { id, again };
}

async function eventsOf(id: string, last: string): Promise<string[]> {
  const names: string[] = [];
  const filters = [`yard.evt.approval.*.${id}.*`];
  for await (const { subject } of readEvents(person, { filters, from: "beginning" })) {
    names.push(subject.split(".").at(-1) ?? "");
    if (names.at(-1) === last) break;
  }
  return names;
}

test("votes that two replicas get at the same time all count, each once, and the call passes once", async () => {
  const second = await world.startReplica();
  for (let round = 0; round < 4; round += 1) {
    const { id, again } = await waitingFor("pay", `pay-${round}`, `payer-${round}`);
    const votes = [ann, ben, ann, ben].map((bus) => call(bus, approveCall, { id }));
    const states = (await Promise.all(votes)).map(({ approval }) => approval.state);
    assert.ok(states.includes("approved"), states.join());
    const { approval } = await call(ann, getApproval, { id });
    assert.deepEqual(approval.votes.map(({ by }) => by).toSorted(), ["ann", "ben"]);
    assert.deepEqual(
      (await Promise.all([again(), again()])).map(({ outcome }) => outcome).toSorted(),
      ["passed", "refused"],
    );
    const names = await eventsOf(id, "consumed");
    assert.deepEqual(names.toSorted(), ["consumed", "decided", "requested", "voted", "voted"]);
  }
  await second.stop();
});

test("a vote that a killed replica stored counts at another one, and the call needs the second person", async () => {
  const { id, again } = await waitingFor("pay", "pay-killed", "payer");
  const replica = await world.startProcess();
  const { approval } = await call(ann, approveCall, { id, scope: "session" });
  replica.kill();
  await replica.exited;
  assert.deepEqual([approval.state, votesText(approval)], ["pending", "1 of 2"]);
  assert.equal((await again()).outcome, "waiting");
  await assert.rejects(call(ann, approveCall, { id }), { code: "already_voted" });
  const repeated = await call(ann, approveCall, { id, scope: "session" });
  assert.equal(repeated.approval.votes.length, 1);
  const { grant, ...decided } = await call(ben, approveCall, { id });
  assert.deepEqual([decided.approval.state, grant], ["approved", null], "ben said once");
  assert.equal((await again()).outcome, "passed");
});

test("only people whom the rules name see and decide a call, not its requester, and one denial ends it", async () => {
  const { id, again } = await waitingFor("pay", "pay-ann", "ann");
  for (const bus of [person, await world.connectAs("team-a")])
    await assert.rejects(call(bus, getApproval, { id }), { code: "unknown_approval" });
  assert.equal((await call(person, listApprovals, {})).decidesAll, false);
  await assert.rejects(call(ann, approveCall, { id }), (error) => {
    assert.ok(isError(error, approveCall, "forbidden_approver"));
    return error.data.setting === "notRequester";
  });
  await call(ben, approveCall, { id });
  await call(ben, denyCall, { id, reason: "not today" });
  const refused = await again();
  assert.ok(refused.outcome === "refused" && refused.state === "denied");
});

test("the states of approvals name who may decide: those whom the rules name, until they have or the call has ended", async () => {
  const { id } = await waitingFor("pay", "pay-may", "ann");
  const other = await waitingFor("pay", "pay-may-too", "payer-may");
  const may = async (bus: Bus, of: string): Promise<unknown> => {
    const { approvals } = await call(bus, approvalStates, { ids: [of] });
    return approvals[0]?.mayDecide;
  };
  assert.deepEqual([await may(ann, id), await may(ben, id)], [false, true], "ann requested it");
  assert.deepEqual([await may(person, id), await may(runnerBus, id)], [undefined, false]);
  assert.deepEqual([await may(ann, other.id), await may(ben, other.id)], [true, true]);
  await call(ann, approveCall, { id: other.id });
  assert.deepEqual([await may(ann, other.id), await may(ben, other.id)], [false, true]);
  await call(ben, denyCall, { id: other.id });
  assert.equal(await may(ben, other.id), false);
});

test("after its time an escalation adds people, is published once, and a decision without a required reason decides nothing", async () => {
  const { id } = await waitingFor("move", "move-1", "mover");
  const { approval } = await call(ann, getApproval, { id });
  assert.equal(Date.parse(approval.expiresAt) - Date.parse(approval.requestedAt), 60_000);
  assert.ok(approval.escalatesAt !== null);
  await assert.rejects(call(ben, getApproval, { id }), { code: "unknown_approval" });
  assert.deepEqual(await eventsOf(id, "escalated"), ["requested", "escalated"]);
  for (const contract of [approveCall, denyCall])
    await assert.rejects(call(ben, contract, { id }), { code: "reason_required" });
  const decided = await call(ben, approveCall, { id, reason: "ann is away" });
  assert.deepEqual([decided.approval.state, decided.approval.escalatesAt], ["approved", null]);
  assert.deepEqual(await eventsOf(id, "decided"), ["requested", "escalated", "voted", "decided"]);
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
