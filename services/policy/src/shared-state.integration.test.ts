/* oxlint-disable unicorn/no-useless-spread -- related arguments stay together on one line */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { client } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { approveCall } from "@switchyard/contracts/policy/approvals";
import { isError } from "@switchyard/contracts/errors";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { checkPolicy, filterPolicy } from "@switchyard/contracts/policy/policy";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import {
  listStops,
  releaseCall,
  resumeCalls,
  stopCalls,
} from "@switchyard/contracts/policy/policy-budgets";
import {
  activatePolicy,
  listPolicyVersions,
  readPolicyTexts,
  rollbackPolicy,
  whoCanCall,
} from "@switchyard/contracts/policy/policy-bundles";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { adminUser, cliUser, client as team, serviceUsers } from "@switchyard/topology/topology";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { holdingRunner } from "../test/holding-runner.ts";
import { startPolicy } from "../test/policy-process.ts";

const RULES = `version: 1
labels:
  - { tools: [web.fetch], are: [untrusted-in] }
  - { tools: [mail.read], are: [sensitive] }
  - { tools: [mail.send], are: [egress] }
origins: { users: [cli] }
rules:
  - { id: all, effect: allow, approval: auto }
  - { id: documents, effect: allow, what: { resources: ["*.*"] }, approval: auto }
  - id: transfers
    effect: deny
    what: { tools: [web.transfer] }
    when: [{ window: { sum: /amount, per: user, within: 1h, gt: 5000 } }]
`;
const LIMITS = `version: 1
budgets:
  - { id: few, for: { agents: [busy] }, per: run, calls: 3 }
  - { id: narrow, for: { agents: [narrow] }, per: agent, concurrency: 1 }
  - { id: once, for: { agents: [patient] }, per: run, calls: 1, repeats: 1 }
  - { id: loops, for: { agents: [looper] }, per: run, repeats: 2 }
layers:
  - { id: in-groups, for: { groups: [core] }, allow: [web.*] }
`;
const DENYING = "version: 1\nrules:\n  - { id: closed, effect: deny, note: closed today }\n";
const tool = (name: string) => mcpToolRef("web", name);

const directory = await testDirectory();
const policies = join(directory, "policies");
await mkdir(policies);
await writeFile(join(policies, "rules.yaml"), RULES);
await writeFile(join(policies, "limits.yaml"), LIMITS);
const keyFile = join(directory, "run-token.jwk");
await writeFile(keyFile, (await createRunTokenKey()).privateJwk, { mode: 0o600 });

const users = [...serviceUsers, cliUser, adminUser, team("team-a", "A team")].map((user) => ({
  user,
  key: createUserKey(),
}));
const nats = await testNats({
  authorization: natsAuthorization({
    users: users.map(({ user, key }) => ({ user, nkey: key.publicKey })),
  }),
});
const redis = await testRedis();
const seedOf = (name: string) =>
  users.find(({ user }) => user.name === name)?.key.seed ?? assert.fail(`no user ${name}`);

async function connectAs(name: string) {
  const seed = seedOf(name);
  const bus = await connectBus({ servers: nats.url, user: name, nkeySeed: () => seed });
  after(() => bus.close());
  return bus;
}

await ensureStreams(await connectAs("admin"));
const cli = client(await connectAs("cli"), {
  activatePolicy,
  rollbackPolicy,
  listPolicyVersions,
  readPolicyTexts,
  explainPolicy,
  approveCall,
  whoCanCall,
  stopCalls,
  resumeCalls,
  listStops,
});
const teamA = client(await connectAs("team-a"), {
  activatePolicy,
  readPolicyTexts,
  stopCalls,
  listStops,
});
const broker = client(await connectAs("broker"), {
  checkPolicy,
  filterPolicy,
  releaseCall,
  admitCall,
  listStops,
});
const runner = await holdingRunner(await connectAs("runner"), redis.url);

const seedFile = join(directory, "policy.nk");
await writeFile(seedFile, seedOf("policy"), { mode: 0o600 });
const replicas = [1, 2].map(() =>
  startPolicy({
    YARD_NATS_URL: nats.url,
    YARD_NATS_NKEY_FILE: seedFile,
    YARD_REDIS_URL: redis.url,
    YARD_POLICY_FILE: policies,
    YARD_KEYS_DIR: directory,
    YARD_APPROVE_OWN: "runs",
  }),
);
await Promise.all(
  replicas.map((replica) => replica.logged((record) => record["msg"] === "service ready")),
);

async function tokenOf(agent: string, runId: string, more: object = {}): Promise<string> {
  const asked = { runId, agent, requester: "cli", tools: [], ttlSeconds: 600, ...more };
  return (await runner.grantRun(asked)).token;
}

async function check(token: string | undefined, ref = tool("get"), args = {}) {
  // The runner presents the tokens that it was given.
  const asked = token === undefined ? { onBehalfOf: "cli" } : { onBehalfOf: "runner", token };
  return broker.checkPolicy({ ...asked, tool: ref, args });
}

/** Both replicas answer from one queue group, so an answer that is equal many times in a row comes from both. */
async function everywhere(expected: string): Promise<void> {
  await until(async () => {
    for (let inARow = 0; inARow < 12; inARow += 1) {
      const { decision } = await check(undefined);
      if (decision.effect !== expected) return false;
    }
    return true;
  });
}

test("a bundle of several files is in force, and its layers narrow what its rules allow", async () => {
  assert.equal((await check(undefined)).decision.effect, "allow");
  const inGroup = await tokenOf("demo", "run-g", { origin: { channel: "slack", group: "core" } });
  assert.equal((await check(inGroup)).decision.effect, "allow");
  const mail = await check(inGroup, mcpToolRef("mail", "read"));
  assert.match(mail.decision.reason, /layer in-groups allows only web\.\*/);

  const child = await tokenOf("child", "run-c", { parentToken: inGroup });
  const { decision, principal } = await check(child, mcpToolRef("mail", "read"));
  assert.equal(decision.effect, "deny", "a sub-agent inherits the group of who started it");
  assert.deepEqual(principal.context, {
    channel: "slack",
    group: "core",
    parent: "run-g",
    root: "run-g",
    depth: 1,
  });
  await assert.rejects(
    tokenOf("child", "run-d", { parentToken: inGroup, requester: "team-a" }),
    (error) => isError(error, grantRun, "invalid_parent"),
  );
});

test("a stop of any ancestor run denies a run's calls, whatever the number of generations", async () => {
  let token = await tokenOf("demo", "cli~run-0");
  for (const depth of [1, 2, 3, 4])
    token = await tokenOf("child", `cli~run-${depth}`, { parentToken: token });
  const { principal } = await check(token, mcpToolRef("mail", "read"));
  assert.deepEqual(principal.context, {
    parent: "cli~run-3",
    between: ["cli~run-2", "cli~run-1"],
    root: "cli~run-0",
    depth: 4,
  });
  for (const depth of [0, 1, 2, 3, 4]) {
    const scope = { kind: "run", name: `cli~run-${depth}` } as const;
    await cli.stopCalls({ scope, reason: "test" });
    const { decision } = await check(token, mcpToolRef("mail", "read"));
    assert.match(decision.reason, /stopped by an administrator/);
    assert.deepEqual(await cli.resumeCalls({ scope }), { resumed: true });
  }
});

test("a run may call as often as its budget allows, and no provider caches such a decision", async () => {
  const token = await tokenOf("busy", "run-1");
  for (let call = 0; call < 3; call += 1) {
    const answer = await check(token, tool("get"), { call });
    assert.equal(answer.decision.effect, "allow");
    assert.equal(answer.cacheable, undefined);
  }
  const { decision } = await check(token);
  assert.equal(decision.effect, "deny");
  assert.match(decision.reason, /budget few is used up: this run has at most 3 calls/);
  assert.equal((await check(await tokenOf("busy", "run-2"))).decision.effect, "allow");
  const explained = await cli.explainPolicy({
    ...{ user: "cli", agent: "busy", runId: "run-1", tool: tool("get"), args: {} },
  });
  assert.equal(explained.decision.effect, "deny");
  assert.deepEqual(explained.limits?.find(({ kind }) => kind === "budget")?.passes, false);
});

test("of three concurrent transfers of 2,000 under 5,000 an hour two replicas let two pass, and one that was not made leaves the window", async () => {
  const transfer = (amount: number) => check(undefined, tool("transfer"), { amount });
  const judged = await Promise.all([2_000, 2_000, 2_000].map(transfer));
  const passed = judged.filter(({ decision }) => decision.effect === "allow");
  assert.equal(passed.length, 2);
  assert.ok(judged.every(({ cacheable }) => cacheable === undefined));
  const denied = await transfer(2_000);
  assert.deepEqual([denied.decision.rule, denied.reservation], ["transfers", undefined]);
  const [{ reservation = "" } = assert.fail()] = passed;
  assert.deepEqual(await broker.releaseCall({ reservation, isMade: false }), { released: true });
  assert.equal((await transfer(3_001)).decision.effect, "deny");
  assert.equal((await transfer(3_000)).decision.effect, "allow");
});

test("no more concurrent calls pass than the limit, and a released slot is free again", async () => {
  const token = await tokenOf("narrow", "run-3");
  const answers = await Promise.all(Array.from({ length: 20 }, () => check(token)));
  const passed = answers.filter(({ decision }) => decision.effect === "allow");
  assert.equal(passed.length, 1);
  const { reservation = assert.fail("no reservation") } = passed[0] ?? {};
  assert.equal((await check(token)).decision.effect, "deny");
  assert.deepEqual(await broker.releaseCall({ reservation }), { released: true });
  assert.deepEqual(await broker.releaseCall({ reservation }), { released: false });
  assert.equal((await check(token)).decision.effect, "allow");
});

test("a call that waits for a person is not counted, and after approval it is the one that may be made", async () => {
  const token = await tokenOf("patient", "run-patient", { approval: "always" });
  const asked = { onBehalfOf: "runner", token, tool: tool("get"), args: { a: 1 } };
  const admit = async () => {
    const { decision, principal } = await broker.checkPolicy(asked);
    assert.equal(decision.effect, "ask", decision.reason);
    const call = { ...asked, principal, caller: "runner", pin: undefined, decision };
    const binding = bindingDigest(call);
    const attempt = randomUUID();
    return broker.admitCall({ ...asked, callId: "run-patient:1", decision, binding, attempt });
  };
  const first = await admit();
  const id = first.outcome === "waiting" ? first.approvalId : assert.fail(first.outcome);
  assert.equal((await admit()).outcome, "waiting");
  await cli.approveCall({ id });
  assert.equal((await admit()).outcome, "passed");
  for (const args of [{ a: 1 }, { a: 2 }])
    assert.equal((await broker.checkPolicy({ ...asked, args })).decision.effect, "deny");
});

test("the same call passes only a limited number of times, another one still passes", async () => {
  const token = await tokenOf("looper", "run-4");
  const effects: string[] = [];
  for (const args of [{ a: 1 }, { a: 1 }, { a: 1 }, { a: 2 }]) {
    effects.push((await check(token, tool("get"), args)).decision.effect);
  }
  assert.deepEqual(effects, ["allow", "allow", "deny", "allow"]);
});

test("a run that has read untrusted content and seen secrets needs an approval to send data out", async () => {
  const token = await tokenOf("demo", "run-5");
  const send = () => check(token, mcpToolRef("mail", "send"));
  await check(token, tool("fetch"));
  assert.equal((await send()).decision.effect, "allow");
  await check(token, mcpToolRef("mail", "read"));
  const { decision, cacheable } = await send();
  assert.deepEqual([decision.effect, decision.tier], ["ask", "always"]);
  assert.equal(cacheable, undefined);

  const child = await tokenOf("child", "run-6", { parentToken: token });
  const { decision: ofChild } = await check(child, mcpToolRef("mail", "send"));
  assert.equal(ofChild.effect, "ask", "a family of runs shares what it has touched");
  const other = await tokenOf("demo", "run-7");
  assert.equal((await check(other, mcpToolRef("mail", "send"))).decision.effect, "allow");
});

test("a resource counts for the flow as the tools of its server do, and none is read past it", async () => {
  const server = (...labels: string[]) => ({ labels });
  const token = await tokenOf("demo", "run-9");
  const read = (uri: string, labels: string[]) =>
    broker.checkPolicy({
      ...{ onBehalfOf: "runner", token, kind: "resource", tool: mcpToolRef("docs", uri), args: {} },
      server: server(...labels),
    });
  const send = () => check(token, mcpToolRef("mail", "send"));
  assert.equal((await read("issue:1", ["untrusted-in"])).decision.effect, "allow");
  assert.equal((await send()).decision.effect, "allow");
  assert.equal((await read("salary:1", ["sensitive"])).decision.effect, "allow");
  assert.equal((await send()).decision.effect, "ask");
  const { decision } = await read("https://example.com/?q=salary", ["egress"]);
  assert.deepEqual([decision.effect, decision.tier], ["ask", "always"]);
});

test("after the reply to a stop every replica denies the stopped calls, until it ends", async () => {
  const token = await tokenOf("demo", "run-8");
  await cli.stopCalls({ scope: { kind: "agent", name: "demo" }, reason: "it misbehaves" });
  const answers = await Promise.all(Array.from({ length: 20 }, () => check(token)));
  for (const { decision, cacheable } of answers) {
    assert.equal(decision.effect, "deny");
    assert.match(decision.reason, /calls of agent demo are stopped .*: it misbehaves/);
    assert.equal(cacheable, undefined);
  }
  const listed = await broker.filterPolicy({ onBehalfOf: "runner", token, tools: [tool("get")] });
  assert.deepEqual(listed.allowed, []);
  assert.equal(listed.cacheable, undefined);
  assert.equal((await check(undefined)).decision.effect, "allow", "others continue");
  assert.equal((await cli.listStops({})).stops.length, 1);
  const scope = { kind: "agent", name: "demo" } as const;
  assert.deepEqual(await cli.resumeCalls({ scope }), { resumed: true });
  await assert.rejects(teamA.stopCalls({ scope: { kind: "all" }, reason: "x" }), (error) =>
    isError(error, stopCalls, "forbidden_admin"),
  );
});

test("a stop by run id applies to that run, which only its requester and services see among the stops", async () => {
  const token = await tokenOf("old", "team-a~r1", { requester: "team-a" });
  assert.equal((await check(token)).decision.effect, "allow");
  const scope = { kind: "run", name: "team-a~r1" } as const;
  const other = { kind: "run", name: "team-b~r1" } as const;
  await cli.stopCalls({ scope, reason: "it misbehaves" });
  await cli.stopCalls({ scope: other, reason: "it misbehaves, too" });
  assert.match((await check(token)).decision.reason, /calls of run team-a~r1 are stopped/);
  const reported = (await teamA.listStops({})).stops.map((one) => one.scope);
  assert.deepEqual(reported, [scope]);
  assert.equal((await broker.listStops({})).stops.length, 2, "providers end what is in work");
  assert.deepEqual(await cli.resumeCalls({ scope }), { resumed: true });
  await until(async () => (await check(token)).decision.effect === "allow");
  const { stop: own } = await cli.stopCalls({ scope: { kind: "run", name: "new" }, reason: "x" });
  assert.deepEqual(own.scope, { kind: "run", name: "cli~new" });
  for (const name of ["new", other.name])
    assert.deepEqual(await cli.resumeCalls({ scope: { kind: "run", name } }), { resumed: true });
});

test("an activated bundle is in force on every replica, whatever the files contain, and can be rolled back", async () => {
  const files = [{ name: "closed.yaml", text: DENYING }];
  for (const ask of [() => teamA.activatePolicy({ files }), () => teamA.readPolicyTexts({})])
    await assert.rejects(ask, (error) => isError(error, activatePolicy, "forbidden_admin"));
  await assert.rejects(
    cli.activatePolicy({
      files: [
        ...files,
        {
          name: "closed.test.yaml",
          text: "tests:\n  - { name: open, given: { tool: web.get }, expect: allow }\n",
        },
      ],
    }),
    (error) => isError(error, activatePolicy, "refused"),
  );
  const { active, previous } = await cli.activatePolicy({ files, note: "an incident" });
  assert.deepEqual([active.by, active.source, previous?.source], ["cli", "activated", "file"]);
  await everywhere("deny");
  await writeFile(join(policies, "rules.yaml"), `${RULES}# changed\n`);
  const { versions, followsFiles } = await cli.listPolicyVersions({});
  assert.equal(followsFiles, false);
  assert.deepEqual(versions[0], active);
  const { version, policyDigest } = active;
  const texts = await cli.readPolicyTexts({});
  assert.deepEqual(texts, { version, policyDigest, files }, "not those of the changed file");
  // Twelve answers in a row may all be of one replica.
  const who = await until(async () => {
    const answer = await cli.whoCanCall({ tool: tool("get") });
    return answer.reach.length === 0 && answer;
  });
  assert.deepEqual(who.deniedBy, ["closed"]);

  for (const request of [{ files }, { version: 1 }, { followFiles: true as const }])
    await assert.rejects(cli.activatePolicy({ ...request, ifVersion: "1" }), (error) =>
      isError(error, activatePolicy, "version_changed"),
    );
  assert.deepEqual((await cli.listPolicyVersions({})).versions[0], active);
  const back = await cli.rollbackPolicy({ note: "over", ifVersion: String(active.version) });
  assert.equal(back.active.policyDigest, previous?.policyDigest);
  await everywhere("allow");
  const followed = await cli.activatePolicy({ followFiles: true });
  assert.equal(followed.active.source, "file");
  assert.equal((await cli.listPolicyVersions({})).followsFiles, true);
  const { files: onDisk } = await cli.readPolicyTexts({});
  assert.ok(onDisk.some(({ text }) => text.endsWith("# changed\n")));
});
