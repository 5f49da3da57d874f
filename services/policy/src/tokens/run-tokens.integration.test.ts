import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { auditBounds, readAudit } from "@switchyard/bus/audit-log";
import { client } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { approveCall, getApproval, listApprovals } from "@switchyard/contracts/policy/approvals";
import { isError } from "@switchyard/contracts/errors";
import { recordsOf } from "@switchyard/contracts/policy/audit-chain";
import { checkPolicy, filterPolicy } from "@switchyard/contracts/policy/policy";
import { resumeCalls, stopCalls } from "@switchyard/contracts/policy/policy-budgets";
import { grantRun, listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { tokensRefused } from "@switchyard/contracts/policy/refused-tokens";
import type { RunTokenClaims } from "@switchyard/contracts/policy/run-token";
import { listGrants } from "@switchyard/contracts/policy/session-grants";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { readAuditBlock } from "@switchyard/audit/verify-audit";
import {
  createRunTokenKey,
  createRunTokenSigner,
  keyIdOf,
  runTokenKeyId,
} from "@switchyard/service/run-token";
import { until } from "@switchyard/local-servers/until";
import { asRunner } from "../../test/as-runner.ts";
import { holdingRunner } from "../../test/holding-runner.ts";
import { startPolicyWorld } from "../../test/policy-world.ts";

const RULES = `version: 1
starters:
  - { id: reports, agents: [reporter], users: [team-a, cli, channels] }
  - { id: helpers, agents: [worker], parents: [reporter] }
origins: { users: [channels] }
rights:
  - { id: sharing, right: share-memory, users: [cli] }
layers:
  - { id: small-models, for: { providers: [ollama] }, allow: [files.read_*] }
  - { id: helpers, for: { subAgents: true }, deny: [files.write_file] }
  - { id: public, for: { channels: ["*:public-*"] }, allow: [files.read_public] }
rules:
  - { id: reads, effect: allow, approval: auto, what: { tools: [files.read_*] } }
  - { id: writes, effect: allow, approval: session, ttl: 10m, what: { tools: [files.write_file, files.append] } }
`;
const READ = mcpToolRef("files", "read_file");
const WRITE = mcpToolRef("files", "write_file");

const world = await startPolicyWorld({ rules: RULES, teams: ["team-a", "team-b", "channels"] });
const policy = await world.startReplica({}, { runTokenKeyLeadMs: 0 });
const cliBus = await world.connectAs("cli");
const cli = client(cliBus, {
  stopCalls,
  resumeCalls,
  listTokenKeys,
  approveCall,
  getApproval,
  listApprovals,
  listGrants,
});
const auditor = await world.connectAs("auditor");
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const broker = client(await world.connectAs("broker"), { checkPolicy, filterPolicy, admitCall });

async function tokenOf(runId: string, more: object = {}): Promise<string> {
  const asked = { runId, agent: "reporter", requester: "team-a", tools: [], ttlSeconds: 600 };
  return (await runner.grantRun({ ...asked, ...more }, LONG_TIMEOUT)).token;
}

/** A busy machine may be slow; the timeouts of the service are not under test. */
const LONG_TIMEOUT = { timeoutMs: 30_000 };

async function check(token: string, { tool = READ, onBehalfOf = "runner" } = {}) {
  return broker.checkPolicy({ onBehalfOf, token, tool, args: {} }, LONG_TIMEOUT);
}

/** Sends the request that a provider sends right before it would send a call. */
async function admit(
  token: string,
  args: Record<string, unknown>,
  named: { readonly callId?: string } = {},
) {
  const tool = WRITE;
  const asked = { onBehalfOf: "runner", token, tool, args };
  const { decision, principal } = await broker.checkPolicy(asked);
  assert.equal(decision.effect, "ask", decision.reason);
  const call = { principal, caller: "runner", tool, pin: undefined, args, decision };
  const binding = bindingDigest(call);
  return broker.admitCall({ ...asked, ...named, decision, binding, attempt: randomUUID() });
}

test("a token is minted only for users who may start the agent, and the refusal states it", async () => {
  await tokenOf("run-1");
  await assert.rejects(tokenOf("run-2", { requester: "team-b" }), (error) => {
    assert.ok(isError(error, grantRun, "may_not_start"));
    assert.deepEqual(error.data, { agent: "reporter", requester: "team-b" });
    assert.match(error.message, /user team-b may not start agent reporter: no entry of starters/);
    return true;
  });
  await assert.rejects(tokenOf("run-3", { agent: "worker" }), (error) =>
    isError(error, grantRun, "may_not_start"),
  );
});

test("only a user with the right to replay gets a token for a recording, which marks the run and its sub-agents, and cannot approve what it dictated", async () => {
  await assert.rejects(tokenOf("run-played", { origin: { replayed: true } }), (error) => {
    assert.ok(isError(error, grantRun, "may_not_replay"));
    assert.match(error.message, /user team-a may not play a recording: rights of the policy/);
    return true;
  });
  const origin = { replayed: true, dictatedBy: "cli" };
  const token = await tokenOf("run-played", { requester: "cli", origin });
  assert.deepEqual((await check(token)).principal.context, origin);
  const below = { agent: "worker", requester: "cli", parentToken: token };
  const child = await check(await tokenOf("run-below", below));
  assert.equal(child.principal.context?.replayed, true);
  assert.equal(child.principal.context.dictatedBy, "cli");

  const reply = await admit(token, { path: "a.txt" });
  const id = reply.outcome === "waiting" ? reply.approvalId : assert.fail(reply.outcome);
  const { approval } = await cli.getApproval({ id });
  assert.equal(approval.principal.context?.replayed, true, "who approves sees it");
  await assert.rejects(cli.approveCall({ id }), (error) => {
    assert.ok(isError(error, approveCall, "forbidden_approver"));
    return error.data.setting === "approve-own";
  });
});

test("a run shares its agent's memory only where the agent's file and the policy allow it, and its sub-agents for themselves", async () => {
  const context = async (runId: string, more: object) =>
    (await check(await tokenOf(runId, more))).principal.context;
  const sharesMemory = true;
  const shared = await context("run-m1", { requester: "cli", sharesMemory });
  assert.deepEqual(shared, { sharesMemory });
  assert.equal(await context("run-m2", { requester: "cli" }), undefined, "its file is silent");
  assert.equal(await context("run-m3", { sharesMemory }), undefined, "team-a has no right to it");
  const parentToken = await tokenOf("run-m4", { requester: "cli", sharesMemory });
  const below = await context("run-m5", { agent: "worker", requester: "cli", parentToken });
  assert.equal(below?.sharesMemory, undefined);
});

test("a runner's key gets tokens only for runs that its process holds", async () => {
  const bus = await world.connectAs("runner");
  const [owner, thief] = [asRunner(bus, runner.redis), asRunner(bus, runner.redis)];
  const about = { agent: "reporter", requester: "team-a", tools: [], ttlSeconds: 600 };
  const past = String(Date.now() - 1);
  await owner.reserve("prepared");
  await owner.hold("held", { epoch: "7" });
  await thief.hold("finished", { status: "succeeded" });
  await thief.hold("parked", { status: "waiting", heldUntil: "0" });
  await thief.hold("queued", { heldUntil: "0" });
  await thief.hold("lapsed", { heldUntil: past });
  // The thief has reserved a run that another runner has created meanwhile.
  await thief.reserve("overtaken");
  await owner.hold("overtaken");
  for (const runId of "prepared held finished parked queued lapsed overtaken invented".split(" "))
    await assert.rejects(thief.ask({ runId, ...about }), (error) => {
      assert.ok(isError(error, grantRun, "not_held"), runId);
      assert.deepEqual(error.data, { runId });
      return true;
    });
  const digest = (await runner.redis.hget("yard:run:{held}:state", "holder")) ?? assert.fail();
  await assert.rejects(
    owner.ask({ runId: "held", ...about, instance: digest }),
    (error) => isError(error, grantRun, "not_held"),
    "who reads Redis does not know the secret",
  );
  const old = thief.ask({ runId: "held", ...about, instance: undefined });
  await assert.rejects(old, (error) => isError(error, grantRun, "policy_unavailable"));

  const epochOf = async (runId: string) =>
    (await broker.checkPolicy({ ...(await asked(owner, runId)), tool: READ, args: {} })).epoch;
  const asked = async (from: typeof owner, runId: string) => ({
    onBehalfOf: "runner",
    token: (await from.ask({ runId, ...about })).token,
  });
  assert.deepEqual(await Promise.all(["prepared", "held"].map(epochOf)), [1, 7]);
});

test("a run's inheritable facts are given only to runs below it, and no call can be made with them", async () => {
  const thief = asRunner(await world.connectAs("runner"), runner.redis);
  const about = { requester: "team-a", tools: [], ttlSeconds: 600 };
  const parentOf = (runId: string) => ({ parent: JSON.stringify({ runId, callId: "c" }) });
  await runner.hold("top");
  await runner.hold("middle", { status: "waiting", heldUntil: "0", ...parentOf("top") });
  const low = asRunner(await world.connectAs("runner"), runner.redis);
  await low.reserve("bottom", "middle");
  const handedDown = { runId: "top", heldRun: "bottom", agent: "reporter", ...about };
  const { token } = await low.ask(handedDown);
  await assert.rejects(check(token), (error) => {
    assert.ok(isError(error, checkPolicy, "invalid_token"));
    return /hands down; no call is made with it/.test(error.message);
  });
  await low.ask({ runId: "bottom", agent: "worker", parentToken: token, ...about });

  await thief.hold("own");
  for (const heldRun of ["own", "bottom", "invented"])
    await assert.rejects(thief.ask({ ...handedDown, heldRun }), (error) =>
      isError(error, grantRun, "not_held"),
    );
  await assert.rejects(
    low.ask({ ...handedDown, runId: "bottom", heldRun: "top" }),
    (error) => isError(error, grantRun, "not_held"),
    "nothing is handed up",
  );
});

test("a sub-agent is started only by the agents that may, and never gets more than its parent [D51]", async () => {
  const parentToken = await tokenOf("run-p", { tools: [["files.read_*", "files.write_file"]] });
  const child = await tokenOf("run-c", {
    agent: "worker",
    parentToken,
    tools: [["files.*", "shell"]],
  });
  assert.equal((await check(child)).decision.effect, "allow");
  const beyond = await check(child, { tool: mcpToolRef("files", "append") });
  assert.equal(beyond.decision.effect, "deny", "the parent's token does not have it");
  const kept = await check(child, { tool: WRITE });
  assert.match(kept.decision.reason, /layer helpers denies it/);
  const ofParent = await check(parentToken, { tool: WRITE });
  assert.equal(ofParent.decision.effect, "ask", "the layer is about sub-agents alone");
  await assert.rejects(
    tokenOf("run-d", { agent: "stranger", parentToken }),
    (error) =>
      isError(error, grantRun, "may_not_start") && /through a run of agent/.test(error.message),
  );
});

test("the model's provider and the channel narrow, and are trusted from the token alone [F39][X42]", async () => {
  const onOllama = await tokenOf("run-o", { origin: { model: "ollama/small" } });
  assert.match((await check(onOllama, { tool: WRITE })).decision.reason, /layer small-models/);
  const elsewhere = await tokenOf("run-e", { origin: { model: "anthropic/large" } });
  assert.equal((await check(elsewhere, { tool: WRITE })).decision.effect, "ask");

  const origin = { channel: "slack:public-help", owner: false };
  await assert.rejects(tokenOf("run-f", { origin }), (error) => {
    assert.ok(isError(error, grantRun, "origin_refused"));
    assert.deepEqual(error.data, { requester: "team-a", parts: ["channel", "owner"] });
    return true;
  });
  const reported = await tokenOf("run-g", { origin, requester: "channels" });
  assert.match((await check(reported)).decision.reason, /layer public/);
});

test("a user who claims the session of its own run gets a token under the rules of its agent and channel, which no other user can use [F39]", async () => {
  const origin = { channel: "slack:public-help" };
  const asked = {
    runId: "channels~run-claimed",
    agent: "reporter",
    requester: "channels",
    tools: [["files.*", "!files.append"]],
    origin,
    ttlSeconds: 600,
  };
  const claim = (more: object) =>
    runner.ask({ ...asked, forUser: "channels", ...more }, LONG_TIMEOUT);
  await assert.rejects(claim({}), { code: "not_held", message: /no run of user channels/ });
  await runner.redis.hset("yard:run:{channels~run-claimed}:state", { requester: "channels" });
  await assert.rejects(claim({ forUser: "team-a" }), { code: "not_held" });
  await assert.rejects(claim({ requester: "team-a", forUser: "team-a" }), { code: "not_held" });

  const ofOwner = await claim({ origin: { ...origin, owner: true } });
  const ownerClaim = await check(ofOwner.token, { onBehalfOf: "channels" });
  assert.equal(ownerClaim.principal.context?.owner, undefined, "a claim makes no owner");
  const { token } = await claim({});
  const { principal, decision, epoch } = await check(token, { onBehalfOf: "channels" });
  assert.deepEqual(principal, {
    user: "channels",
    agent: "reporter",
    runId: "channels~run-claimed",
    context: { ...origin, replayed: true, dictatedBy: "channels" },
  });
  assert.match(decision.reason, /layer public/);
  assert.equal(epoch, undefined);
  await assert.rejects(check(token), { code: "invalid_token" }); // the runner itself
});

test("only owners may use tools reserved for owners, and the token states who acts for one [X42]", async () => {
  const cron = builtinToolRef("cron_add");
  for (const [owner, isFor] of [
    [true, false],
    [false, true],
  ]) {
    const origin = { channel: "slack:eng", owner };
    const token = await tokenOf(`run-w-${owner}`, { origin, requester: "channels" });
    const { decision } = await check(token, { tool: cron });
    assert.equal(/for owners of the installation alone/.test(decision.reason), isFor);
    assert.equal(decision.effect, "deny", "no rule allows it either way");
  }
});

test("a token is valid only for its holder, and attempts of others are published [X43]", async () => {
  const token = await tokenOf("run-h");
  const asked = { onBehalfOf: "team-b", token };
  const isRefused = (error: unknown): boolean =>
    isError(error, checkPolicy, "invalid_token") && error.data.reason === "holder";
  await assert.rejects(broker.checkPolicy({ ...asked, tool: READ, args: {} }), isRefused);
  await assert.rejects(broker.filterPolicy({ ...asked, tools: [READ] }), isRefused);
  let counted = 0;
  const filters = [tokensRefused.subject.replace("{provider}", "broker")];
  for await (const { payload } of readEvents(cliBus, { filters, from: "beginning" })) {
    const fact = tokensRefused.payload.parse(payload);
    if (fact.caller === "team-b" && fact.reason === "holder") counted += fact.count;
    if (counted === 2) break;
  }
});

/** The refusals in the audit that are about one tool, once there are so many. */
async function auditedRefusals(tool: string, least: number): Promise<string[]> {
  return until(async () => {
    const { first: sequence, last: upTo } = await auditBounds(auditor);
    const reasons: string[] = [];
    for await (const { subject, payload } of readAudit(auditor, { from: { sequence }, upTo })) {
      const block = readAuditBlock(subject, payload);
      assert.ok(typeof block !== "string");
      for (const record of recordsOf(block))
        if (record.kind === "refusal" && record.tool?.tool === tool) reasons.push(record.reason);
    }
    return reasons.length >= least && reasons;
  });
}

test("forged, expired, changed and borrowed tokens decide nothing, and each is in the audit with its reason [X43]", async () => {
  const good = await tokenOf("run-f");
  const [header = "", payload = "", signature = ""] = good.split(".");
  // Our own token.
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as RunTokenClaims;
  const changed = (more: object): string => {
    const text = JSON.stringify({ ...claims, ...more });
    return [header, Buffer.from(text).toString("base64url"), signature].join(".");
  };
  const own = await createRunTokenSigner(world.firstKey);
  const foreign = await createRunTokenSigner((await createRunTokenKey()).privateJwk);
  const bad: [reason: string, token: string, onBehalfOf: string][] = [
    ["expired", await own({ ...claims, exp: claims.iat - 1, iat: claims.iat - 60 }), "runner"],
    ["signature", await foreign(claims), "runner"],
    ["signature", changed({ run: "run-other" }), "runner"],
    ["signature", changed({ sub: "worker" }), "runner"],
    ["signature", changed({ requester: "cli" }), "runner"],
    ["malformed", "forged", "runner"],
    ["holder", good, "team-b"],
  ];
  const tool = mcpToolRef("files", "read_forged");
  for (const [reason, token, onBehalfOf] of bad)
    await assert.rejects(
      check(token, { tool, onBehalfOf }),
      (error) => isError(error, checkPolicy, "invalid_token") && error.data.reason === reason,
      reason,
    );
  const reasons = await auditedRefusals("read_forged", bad.length);
  assert.deepEqual(
    reasons,
    bad.map(([reason]) => reason),
  );
  // A token contains nothing about another run or agent: its holder acts as the one it names.
  const { principal } = await check(good, { tool });
  assert.deepEqual([principal.agent, principal.runId], ["reporter", "run-f"]);
});

test("a stop ends pending approvals and grants, and no token is minted for its scope until it is lifted", async () => {
  const token = await tokenOf("cli~run-s");
  const waiting = await admit(token, { path: "a" });
  assert.ok(waiting.outcome === "waiting");
  const other = await admit(token, { path: "b" });
  assert.ok(other.outcome === "waiting");
  const { grant } = await cli.approveCall({ id: waiting.approvalId, scope: "session", maxUses: 1 });
  assert.equal(grant?.usesLeft, 1);
  const third = { callId: "cli~run-s:1:0" };
  assert.equal((await admit(token, { path: "c" }, third)).outcome, "waiting");
  const scope = { kind: "run", name: "cli~run-s" } as const;
  await cli.stopCalls({ scope, reason: "it misbehaves" });

  assert.deepEqual((await cli.listGrants({})).grants, []);
  const { approvals } = await cli.listApprovals({ runId: "cli~run-s" });
  assert.deepEqual(approvals, [], "no approval is requested any more");
  await assert.rejects(tokenOf("cli~run-s"), (error) => {
    assert.ok(isError(error, grantRun, "stopped"));
    assert.deepEqual(error.data, { scope, reason: "it misbehaves" });
    assert.match(error.message, /calls of run cli~run-s are stopped .*: it misbehaves/);
    return true;
  });
  await assert.rejects(tokenOf("run-below", { agent: "worker", parentToken: token }), (error) =>
    isError(error, grantRun, "stopped"),
  );
  // The answers show that it is not the rules that deny.
  const stop = { scope, reason: "it misbehaves" };
  assert.deepEqual((await check(token)).decision.stop, stop);
  const listed = await broker.filterPolicy({ onBehalfOf: "runner", token, tools: [READ] });
  assert.deepEqual([listed.allowed, listed.stopped], [[], stop]);
  await cli.resumeCalls({ scope });
  assert.equal((await check(await tokenOf("cli~run-s"))).decision.stop, undefined);
  const again = await admit(token, { path: "c" }, third);
  assert.equal(again.outcome, "waiting", "a stop is no decision about the call");
});

test("a grant for a session is good in every run of the conversation, and in no other", async () => {
  const first = await tokenOf("run-t1", { origin: { session: "s-1" } });
  const asked = await admit(first, { path: "a" });
  assert.ok(asked.outcome === "waiting");
  await cli.approveCall({ id: asked.approvalId, scope: "session" });
  const second = await tokenOf("run-t2", { origin: { session: "s-1" } });
  assert.equal((await admit(second, { path: "b" })).outcome, "passed");
  const elsewhere = await tokenOf("run-t3", { origin: { session: "s-2" } });
  assert.equal((await admit(elsewhere, { path: "c" })).outcome, "waiting");
  const others = await tokenOf("run-t4", { origin: { session: "s-1" }, requester: "cli" });
  assert.equal((await admit(others, { path: "d" })).outcome, "waiting");
});

test("a key added in front of the other is used without a restart, and tokens of both are valid", async () => {
  const older = await tokenOf("run-k1");
  const newer = await createRunTokenKey();
  const kids = {
    old: await runTokenKeyId(world.firstKey),
    new: await runTokenKeyId(newer.privateJwk),
  };
  assert.equal(keyIdOf(older), kids.old);
  const keys = [JSON.parse(newer.privateJwk), JSON.parse(world.firstKey)] as unknown[];
  const gone = await createRunTokenKey();
  const retired = [JSON.parse(gone.publicJwk)] as unknown[];
  await writeFile(world.keyFile, JSON.stringify({ keys, retired }), { mode: 0o600 });
  await policy.logged(({ msg }) => msg === "run token keys read again");

  const token = await tokenOf("run-k2");
  assert.equal(keyIdOf(token), kids.new);
  assert.equal((await check(token)).decision.effect, "allow");
  assert.equal((await check(older)).decision.effect, "allow");
  assert.deepEqual((await cli.listTokenKeys({})).keys, [
    { kid: kids.new, use: "signs", revoked: false },
    { kid: kids.old, use: "accepted", revoked: false },
  ]);
  const published = (await cli.listTokenKeys({})).publicKeys?.map(({ kid }) => kid);
  assert.deepEqual(published, [kids.new, kids.old, await runTokenKeyId(gone.publicJwk)]);

  await cli.stopCalls({ scope: { kind: "key", name: kids.old }, reason: "it leaked" });
  await assert.rejects(check(older), (error) => {
    assert.ok(isError(error, checkPolicy, "invalid_token"));
    return error.data.reason === "revoked";
  });
  await assert.rejects(tokenOf("run-k3", { agent: "worker", parentToken: older }), (error) =>
    isError(error, grantRun, "invalid_parent"),
  );
  assert.equal((await check(token)).decision.effect, "allow");
  const [, revoked] = (await cli.listTokenKeys({})).keys;
  assert.deepEqual(revoked, { kid: kids.old, use: "accepted", revoked: true });
});

test("with every key revoked no token is minted, and a file without a key changes nothing", async () => {
  const [signing] = (await cli.listTokenKeys({})).keys;
  assert.ok(signing?.use === "signs");
  const scope = { kind: "key", name: signing.kid } as const;
  await cli.stopCalls({ scope, reason: "it leaked, too" });
  await assert.rejects(tokenOf("run-n"), (error) => {
    assert.ok(isError(error, grantRun, "no_key"));
    assert.match(error.message, /every key of run tokens was revoked: yard keys rotate/);
    return true;
  });
  await cli.resumeCalls({ scope });
  await writeFile(world.keyFile, "no key", { mode: 0o600 });
  await policy.logged(({ msg }) => msg === "run token keys cannot be read, those of before stay");
  assert.equal((await check(await tokenOf("run-n"))).decision.effect, "allow");
});

test("while Redis cannot return the stops no call passes, and no token is minted", async (t) => {
  const token = await tokenOf("run-r");
  world.redis.kill("SIGSTOP");
  t.after(() => world.redis.kill("SIGCONT"));
  // A copy of the stops stays valid for a moment.
  const refusal = await until(() => check(token).then(() => null, rejection));
  assert.ok(isError(refusal, checkPolicy, "stops_unknown") && refusal.retryable);
  assert.match(refusal.message, /cannot be seen what is stopped, because Redis does not answer/);
  const asked = { onBehalfOf: "runner", token, tools: [READ] };
  await assert.rejects(broker.filterPolicy(asked, LONG_TIMEOUT), (error) =>
    isError(error, filterPolicy, "stops_unknown"),
  );
  await assert.rejects(tokenOf("run-r"), (error) => isError(error, grantRun, "policy_unavailable"));
  world.redis.kill("SIGCONT");
  await until(
    () => check(token).catch(rejection),
    (decided) => typeof decided === "object" && decided !== null && "decision" in decided,
  );
});

const rejection = (error: unknown): unknown => error;
