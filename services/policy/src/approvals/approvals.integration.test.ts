import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { client } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishEvent } from "@switchyard/bus/publish";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { filterOf } from "@switchyard/contracts/define";
import { admitCall, settleCall } from "@switchyard/contracts/policy/approval-admission";
import {
  approvalConsumed,
  approvalDecided,
  approvalExpired,
  approvalRequested,
} from "@switchyard/contracts/policy/approval-events";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import {
  approvalStates,
  approveCall,
  cancelApproval,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import type { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { runCancelled } from "@switchyard/contracts/agent-runner/run-events";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import {
  adminUser,
  client as clientUser,
  cliUser,
  serviceUsers,
} from "@switchyard/topology/topology";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createRunTokenKey } from "@switchyard/service/run-token";
import type { z } from "zod";
import { holdingRunner } from "../../test/holding-runner.ts";
import { startPolicy, type LogRecord } from "../../test/policy-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const RULES = (note: string) => `version: 1
rules:
  - id: writes
    effect: allow
    approval: session
    ttl: 10m
    what: { tools: [files.write_file] }
    note: ${note}
  - { id: removals, effect: allow, approval: always, what: { tools: [files.remove] } }
`;
const WRITE = mcpToolRef("files", "write_file");
const REMOVE = mcpToolRef("files", "remove");

const directory = await testDirectory();
const policyFile = join(directory, "rules.yaml");
const keyFile = join(directory, "run-token.jwk");
await writeFile(policyFile, RULES("writes change files"));
await writeFile(keyFile, (await createRunTokenKey()).privateJwk, { mode: 0o600 });

const teamUser = clientUser("team-a", "A team");
const users = [...serviceUsers, cliUser, adminUser, teamUser].map((user) => ({
  user,
  key: createUserKey(),
}));
const nats = await testNats({
  authorization: natsAuthorization({
    users: users.map(({ user, key }) => ({ user, nkey: key.publicKey })),
  }),
});
const redis = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const store = await connectRedis({ url: redis.url, name: "test", log });
after(() => store.disconnect());

async function connectAs(name: string) {
  const seed = users.find(({ user }) => user.name === name)?.key.seed ?? assert.fail(name);
  const bus = await connectBus({ servers: nats.url, user: name, nkeySeed: () => seed });
  after(() => bus.close());
  return bus;
}

await ensureStreams(await connectAs("admin"));
const cliBus = await connectAs("cli");
const deciding = {
  approveCall,
  denyCall,
  cancelApproval,
  getApproval,
  listApprovals,
  listGrants,
  revokeGrant,
  approvalStates,
};
const person = client(cliBus, deciding);
const team = client(await connectAs("team-a"), deciding);
const runnerBus = await connectAs("runner");
const runner = {
  ...client(runnerBus, { approvalStates }),
  ...(await holdingRunner(runnerBus, redis.url)),
};
const broker = client(await connectAs("broker"), { checkPolicy, admitCall, settleCall });

const seedFile = join(directory, "policy.nk");
await writeFile(seedFile, users.find(({ user }) => user.name === "policy")?.key.seed ?? "", {
  mode: 0o600,
});
const environment = {
  YARD_NATS_URL: nats.url,
  YARD_NATS_NKEY_FILE: seedFile,
  YARD_REDIS_URL: redis.url,
  YARD_POLICY_FILE: policyFile,
  YARD_KEYS_DIR: directory,
  ...testConstants({ approvalPromptsPerRun: 8 }),
};
const withMessage = (message: string) => (record: LogRecord) => record["msg"] === message;
const policy = startPolicy(environment);
await policy.logged(withMessage("service ready"));

async function tokenOf(
  runId: string,
  { agent = "demo", requester = "team-a", ...more }: Partial<TokenRequest> = {},
) {
  const whose = { runId, agent, requester, ...more };
  const { token } = await runner.grantRun({ ...whose, tools: [], ttlSeconds: 600 });
  return token;
}

type TokenRequest = Pick<z.input<typeof grantRun.request>, "agent" | "requester" | "approval">;

interface TestCall {
  readonly token?: string;
  readonly args?: Record<string, unknown>;
  readonly callId?: string;
  readonly approvalId?: string;
  readonly tool?: typeof WRITE;
}

/** Sends the request that a provider sends right before it would send a call. */
async function admit({
  token,
  args = { path: "a.txt" },
  callId,
  approvalId,
  tool = WRITE,
}: TestCall) {
  const asked = { onBehalfOf: "runner", ...(token === undefined ? {} : { token }), tool, args };
  const { decision, principal } = await broker.checkPolicy(asked);
  assert.equal(decision.effect, "ask");
  const call = { principal, caller: "runner", tool, pin: undefined, args, decision };
  const attempt = randomUUID();
  const reply = await broker.admitCall({
    ...asked,
    ...(callId === undefined ? {} : { callId }),
    ...(approvalId === undefined ? {} : { approvalId }),
    decision,
    binding: bindingDigest(call),
    attempt,
  });
  return { ...reply, attempt };
}

async function waiting(call: TestCall): Promise<string> {
  const reply = await admit(call);
  assert.equal(reply.outcome, "waiting", JSON.stringify(reply));
  return reply.outcome === "waiting" ? reply.approvalId : assert.fail();
}

const refused = async (call: TestCall) => {
  const reply = await admit(call);
  return reply.outcome === "refused" ? reply : assert.fail(`not refused: ${reply.outcome}`);
};

test("a call waits for a person, passes once when it is approved, and never again [E18]", async () => {
  const token = await tokenOf("run-once");
  const call = { token, callId: "run-once:1" };
  const id = await waiting(call);
  assert.equal(await waiting(call), id, "a repeat sends no other prompt");
  const { approval } = await person.approveCall({ id });
  assert.equal(approval.state, "approved");
  assert.deepEqual(
    { by: approval.decision?.by, how: approval.decision?.authenticated },
    { by: "cli", how: "nats-user" },
  );
  const decidedAt = Date.parse(approval.decision?.at ?? "");
  assert.equal(Date.parse(approval.expiresAt) - decidedAt, 3_600_000, "then it has to be used");
  const passed = await admit(call);
  assert.equal(passed.outcome, "passed");
  const again = await refused(call);
  assert.equal(again.state, "consumed");
  assert.match(again.reason, /attempt whose end is not known/);
  const shown = await person.getApproval({ id });
  assert.equal(shown.approval.execution, "unknown", "the provider has not reported its end");
  const attempt = passed.attempt;
  await broker.settleCall({ approvalId: id, attempt, outcome: "executed" });
  assert.match((await refused(call)).reason, /used for a call that has ended/);
});

test("of fifty parallel attempts one passes", async () => {
  const call = { token: await tokenOf("run-fifty"), callId: "run-fifty:1" };
  await person.approveCall({ id: await waiting(call) });
  const replies = await Promise.all(Array.from({ length: 50 }, () => admit(call)));
  assert.equal(replies.filter(({ outcome }) => outcome === "passed").length, 1);
});

test("an approval is good for no other arguments, run, agent or call id [E17]", async () => {
  const call = { token: await tokenOf("run-bound"), callId: "run-bound:1" };
  const id = await waiting(call);
  await person.approveCall({ id });
  const others: TestCall[] = [
    { ...call, args: { path: "/etc/passwd" }, approvalId: id },
    { ...call, callId: "run-bound:2", approvalId: id },
    { ...call, tool: REMOVE, approvalId: id },
    { ...call, token: await tokenOf("run-other"), approvalId: id },
    { ...call, token: await tokenOf("run-bound", { agent: "writer" }), approvalId: id },
    { ...call, token: await tokenOf("run-bound", { requester: "cli" }), approvalId: id },
    { args: { path: "a.txt" }, approvalId: id },
    { token: call.token, approvalId: id },
  ];
  for (const other of others) assert.notEqual(await waiting(other), id);
  assert.equal((await admit(call)).outcome, "passed");
});

test("a call without a call id is repeated by naming its approval, once", async () => {
  const call = { token: await tokenOf("run-named") };
  const id = await waiting(call);
  assert.notEqual(await waiting(call), id);
  await person.approveCall({ id });
  for (const other of [
    { ...call, args: { path: "/etc/passwd" } },
    { ...call, tool: REMOVE },
    { token: await tokenOf("run-named-2") },
  ])
    assert.notEqual(await waiting({ ...other, approvalId: id }), id);
  assert.equal((await admit({ ...call, approvalId: id })).outcome, "passed");
  assert.equal((await refused({ ...call, approvalId: id })).state, "consumed");
});

test("an approval is available again when its call was provably not sent, for that attempt only", async () => {
  const call = { token: await tokenOf("run-back"), callId: "run-back:1" };
  const id = await waiting(call);
  await person.approveCall({ id });
  const passed = await admit(call);
  const other = { approvalId: id, attempt: randomUUID(), outcome: "not_sent" as const };
  assert.deepEqual(await broker.settleCall(other), { settled: false });
  assert.deepEqual(await broker.settleCall({ ...other, attempt: passed.attempt }), {
    settled: true,
  });
  assert.equal((await admit(call)).outcome, "passed");
});

test("approvals of a cancelled run are cancelled, except those requested afterwards", async () => {
  const ids = await Promise.all(
    ["run-called-off", "run-going-on"].map(async (runId) =>
      waiting({ token: await tokenOf(runId), callId: `${runId}:1` }),
    ),
  );
  const [calledOff = "", goingOn = ""] = ids;
  const filters = [`yard.evt.approval.*.${calledOff}.decided`];
  const decided = readEvents(cliBus, { filters, from: "beginning" });
  const asked = await person.getApproval({ id: calledOff });
  const at = asked.approval.requestedAt;
  const runId = "run-called-off";
  // Retried, it waits again.
  const retried = await waiting({ token: await tokenOf(runId), callId: `${runId}:2` });
  const end = { runId, seq: 9, at, by: "team-a", reason: null, steps: 1 };
  await publishEvent(runnerBus, runCancelled, { owner: "cli", runId }, end);
  for await (const _ of decided) break;
  const { approval } = await person.getApproval({ id: calledOff });
  assert.equal(approval.state, "cancelled");
  assert.deepEqual(
    [approval.decision?.by, approval.decision?.reason],
    ["policy", "its run was cancelled"],
  );
  for (const id of [goingOn, retried])
    assert.equal((await person.getApproval({ id })).approval.state, "pending", id);
});

test("a denial returns its reason, and another verdict comes too late", async () => {
  const call = { token: await tokenOf("run-denied"), callId: "run-denied:1" };
  const id = await waiting(call);
  await person.denyCall({ id, reason: "use the scratch folder" });
  assert.match((await refused(call)).reason, /denied by cli: use the scratch folder/);
  await person.denyCall({ id, reason: "use the scratch folder" });
  await assert.rejects(person.approveCall({ id }), (error) => {
    assert.ok(isError(error, approveCall, "already_ended"));
    return error.data.state === "denied";
  });
});

test("the user who started a run, a service, or an unnamed user cannot approve", async () => {
  const call = { token: await tokenOf("run-own"), callId: "run-own:1" };
  const id = await waiting(call);
  await assert.rejects(team.approveCall({ id }), (error) =>
    isError(error, approveCall, "forbidden_approver"),
  );
  const services = client(runnerBus, { approveCall });
  await assert.rejects(
    services.approveCall({ id }),
    (error) => error instanceof ServiceError && error.code === "forbidden",
  );
  assert.equal((await team.getApproval({ id })).approval.id, id, "who started it may look");
  assert.equal((await team.cancelApproval({ id })).approval.state, "cancelled");
  assert.match((await refused(call)).reason, /cancelled by team-a/);
});

const forbiddenBy = (setting: string) => (error: unknown) =>
  isError(error, approveCall, "forbidden_approver") && error.data.setting === setting;

test("without a setting an approver does not decide about a call of a run that it started", async () => {
  const token = await tokenOf("run-of-cli", { requester: "cli" });
  const id = await waiting({ token, callId: "run-of-cli:1" });
  await assert.rejects(person.approveCall({ id }), forbiddenBy("YARD_APPROVE_OWN"));
  await person.cancelApproval({ id });
});

test("a direct call must be approved by a user other than its caller", async () => {
  const asked = { onBehalfOf: "cli", tool: REMOVE, args: {} };
  const { decision, principal } = await broker.checkPolicy(asked);
  const binding = bindingDigest({ ...asked, principal, caller: "cli", pin: undefined, decision });
  const reply = await broker.admitCall({ ...asked, decision, binding, attempt: randomUUID() });
  assert.equal(reply.outcome, "waiting");
  const id = reply.outcome === "waiting" ? reply.approvalId : "";
  await assert.rejects(person.approveCall({ id }), forbiddenBy("approve-own"));
});

test("a session approval covers later and waiting calls of the run, up to its number of uses, until it is revoked [E14][E17]", async () => {
  const token = await tokenOf("run-session");
  const waits = { token, callId: "run-session:2", args: { path: "b.txt" } };
  const other = await waiting(waits);
  const id = await waiting({ token, callId: "run-session:1" });
  const wanted = { scope: "session", maxUses: 3, ttlSeconds: 3_600 } as const;
  const { grant } = await person.approveCall({ id, ...wanted });
  assert.ok(grant);
  const ttlMs = Date.parse(grant.expiresAt) - Date.parse(grant.grantedAt);
  assert.equal(ttlMs, 600_000, "no longer than the rule's ttl");

  assert.equal((await person.getApproval({ id: other })).approval.state, "approved");
  assert.equal((await admit(waits)).outcome, "passed");
  const later = await admit({ token, callId: "run-session:3" });
  assert.ok(later.outcome === "passed" && later.grantId === grant.id);
  const elsewhere = { token: await tokenOf("run-elsewhere"), callId: "run-elsewhere:1" };
  await waiting(elsewhere);
  assert.equal((await person.listGrants({})).grants[0]?.usesLeft, 1);
  await person.revokeGrant({ id: grant.id });
  await waiting({ token, callId: "run-session:4" });
});

test("a session approval can insist on an argument", async () => {
  const token = await tokenOf("run-same");
  const args = { path: "a.txt", text: "1" };
  const id = await waiting({ token, callId: "run-same:1", args });
  await assert.rejects(
    person.approveCall({ id, scope: "session", sameArguments: ["/nothing"] }),
    (error) => isError(error, approveCall, "bad_pointer"),
  );
  await person.approveCall({ id, scope: "session", sameArguments: ["/path"] });
  const same = await admit({ token, callId: "run-same:2", args: { ...args, text: "2" } });
  assert.equal(same.outcome, "passed");
  await waiting({ token, callId: "run-same:3", args: { ...args, path: "b.txt" } });
});

test("a session approval does not cover a run whose agent wants each call approved by itself", async () => {
  const id = await waiting({ token: await tokenOf("run-tier"), callId: "run-tier:1" });
  await person.approveCall({ id, scope: "session" });
  const strict = await tokenOf("run-tier", { approval: "always" });
  await waiting({ token: strict, callId: "run-tier:2" });
  const covered = await admit({ token: await tokenOf("run-tier"), callId: "run-tier:3" });
  assert.equal(covered.outcome, "passed");
});

test("a session approval approves no waiting call that is to be approved by itself, though of the same rule", async () => {
  const token = await tokenOf("run-flow");
  const strict = await tokenOf("run-flow", { approval: "always" });
  const byItself = await waiting({ token: strict, callId: "run-flow:1" });
  const another = await waiting({ token, callId: "run-flow:2" });
  const id = await waiting({ token, callId: "run-flow:3" });
  await person.approveCall({ id, scope: "session" });
  assert.equal((await person.getApproval({ id: another })).approval.state, "approved");
  assert.equal((await person.getApproval({ id: byItself })).approval.state, "pending");
});

test("an approval that was lost from the index is listed again when its call is repeated", async () => {
  const call = { token: await tokenOf("run-lost"), callId: "run-lost:1" };
  const id = await waiting(call);
  const keys = ["all", "pending", "due"].map((name) => `yard:{approvals}:${name}`);
  await Promise.all(keys.map((key) => store.del(key)));
  const listed = async () => (await person.listApprovals({ runId: "run-lost" })).approvals.length;
  assert.equal(await listed(), 0);
  assert.equal(await waiting(call), id);
  assert.equal(await listed(), 1);
});

test("the tier always takes no session approval", async () => {
  const call = { token: await tokenOf("run-always"), callId: "run-always:1", tool: REMOVE };
  const id = await waiting(call);
  await assert.rejects(person.approveCall({ id, scope: "session" }), (error) =>
    isError(error, approveCall, "once_only"),
  );
});

test("a person sees the exact arguments, credentials as length and digest, hidden characters, and what changed since the last approval", async () => {
  const token = await tokenOf("run-shown", { agent: "shown" });
  const apiKey = ["sk", "proj", "q7Rw2Lx9Tb4Z".repeat(4)].join("-");
  const common = { apiKey, password: "$(reboot)" };
  const first = { token, callId: "run-shown:1", args: { path: "a.txt", ...common } };
  await person.approveCall({ id: await waiting(first) });
  assert.equal((await admit(first)).outcome, "passed");
  const args = { path: "a\u200b.txt", ...common, more: [1] };
  const id = await waiting({ ...first, callId: "run-shown:2", args });
  const { presentation } = await person.getApproval({ id });
  assert.match(
    presentation.args,
    /^\{"apiKey":"\[redacted 56 chars sha256:[0-9a-f]{32}…\]","more":\[1\],"password":"\$\(reboot\)","path":"a\\u\{200b\}\.txt"\}$/,
  );
  assert.ok(presentation.hasHiddenCharacters && presentation.hasRedactions);
  assert.deepEqual(presentation.changes, [
    { pointer: "/path", before: '"a.txt"', after: '"a\\u{200b}.txt"' },
    { pointer: "/more", before: null, after: "[1]" },
  ]);
});

test("a run that requests approval too often is refused without prompting a person", async () => {
  const token = await tokenOf("run-flood");
  for (let index = 0; index < 8; index += 1) await waiting({ token, callId: `run-flood:${index}` });
  assert.equal((await refused({ token, callId: "run-flood:8" })).state, "rate_limited");
});

test("events report each step, and never an argument", async () => {
  const token = await tokenOf("run-told");
  const call = { token, callId: "run-told:1", args: { path: "canary-in-arguments" } };
  const id = await waiting(call);
  await person.approveCall({ id });
  await admit(call);
  const seen: string[] = [];
  const contracts = [approvalRequested, approvalDecided, approvalExpired, approvalConsumed];
  for await (const { subject, payload } of readEvents(cliBus, {
    filters: contracts.map((contract) => filterOf(contract, { id })),
    from: "beginning",
  })) {
    seen.push(subject.split(".").at(-1) ?? "");
    assert.doesNotMatch(JSON.stringify(payload), /canary/);
    if (seen.length === 3) break;
  }
  assert.deepEqual(seen, ["requested", "decided", "consumed"]);
});

test("a change of the rules during the wait voids the approval", async () => {
  const call = { token: await tokenOf("run-void"), callId: "run-void:1" };
  const id = await waiting(call);
  const approved = { token: await tokenOf("run-void-2"), callId: "run-void-2:1" };
  const before = await waiting(approved);
  await person.approveCall({ id: before });
  const { token } = call;
  await person.approveCall({
    id: await waiting({ token, callId: "run-void:2" }),
    scope: "session",
    sameArguments: ["/path"],
  });

  const inForce = withMessage("policy in force");
  const first = policy.records.find(inForce);
  const activated = policy.logged((record) => inForce(record) && record !== first);
  await writeFile(policyFile, RULES("writes change files, and how"));
  await activated;
  const seen = new Set(policy.records.filter(inForce));
  await assert.rejects(person.approveCall({ id }), (error) =>
    isError(error, approveCall, "already_ended"),
  );
  assert.equal((await person.getApproval({ id })).approval.state, "cancelled");
  assert.notEqual(await waiting({ ...call, approvalId: id }), id);
  assert.notEqual(await waiting({ ...approved, approvalId: before }), before);
  assert.deepEqual((await person.listGrants({})).grants, []);

  // The former rules are restored, but none of the approvals, denials and cancellations under them.
  const back = policy.logged((record) => inForce(record) && !seen.has(record));
  await writeFile(policyFile, RULES("writes change files"));
  await back;
  assert.equal((await person.getApproval({ id: before })).approval.state, "cancelled");
  assert.equal(await waiting(call), id, "no decision came, so it is requested anew");
  assert.equal(await waiting(approved), before);
  const listed = (await person.listApprovals({ limit: 100 })).approvals.map((one) => one.id);
  assert.deepEqual(
    listed.filter((one) => one === before || one === id).toSorted(),
    [before, id].toSorted(),
  );
  await person.approveCall({ id: before });
  assert.equal((await admit(approved)).outcome, "passed");
});
