import assert from "node:assert/strict";
import { chmod, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call, client } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { discoverServices } from "@switchyard/bus/discovery";
import { readEvents } from "@switchyard/bus/events";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { rpc } from "@switchyard/contracts/define";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { checkPolicy, filterPolicy } from "@switchyard/contracts/policy/policy";
import { bundleActivated, bundleRefused } from "@switchyard/contracts/policy/policy-bundles";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import {
  RUN_TOKEN_AUDIENCE,
  RUN_TOKEN_ISSUER,
  type RunTokenClaims,
} from "@switchyard/contracts/policy/run-token";
import { contractsByOwner, isRpc } from "@switchyard/contracts/registry";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { adminUser, cliUser, serviceUsers } from "@switchyard/topology/topology";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { createRunTokenKey, createRunTokenSigner } from "@switchyard/service/run-token";
import { z } from "zod";
import { holdingRunner } from "../test/holding-runner.ts";
import { startPolicy, type LogRecord } from "../test/policy-process.ts";

const RULES = `version: 1
defaults: { approval: auto }
rules:
  - { id: demo-reads, effect: allow, who: { agents: [demo] }, what: { tools: [files.*] } }
  - { id: people-echo, effect: allow, who: { users: [cli] }, what: { tools: [everything.echo] } }
  - { id: no-writes, effect: deny, what: { tools: [files.write_file] }, note: the demo reads and never writes }
`;
const READ = mcpToolRef("files", "read_file");
const WRITE = mcpToolRef("files", "write_file");
const ECHO = mcpToolRef("everything", "echo");
const GIT = mcpToolRef("git", "log");

const directory = await testDirectory();
const policyFile = join(directory, "rules.yaml");
const keyFile = join(directory, "run-token.jwk");
const runTokenKey = await createRunTokenKey();
await writeFile(policyFile, RULES);
await writeFile(keyFile, runTokenKey.privateJwk, { mode: 0o600 });

const users = [...serviceUsers, cliUser, adminUser].map((user) => ({ user, key: createUserKey() }));
const nats = await testNats({
  authorization: natsAuthorization({
    users: users.map(({ user, key }) => ({ user, nkey: key.publicKey })),
  }),
});
const redis = await testRedis();

async function connectAs(name: string) {
  const seed = seedOf(name);
  const bus = await connectBus({ servers: nats.url, user: name, nkeySeed: () => seed });
  after(() => bus.close());
  return bus;
}

function seedOf(name: string): string {
  return users.find(({ user }) => user.name === name)?.key.seed ?? assert.fail(`no user ${name}`);
}

await ensureStreams(await connectAs("admin"));
const cli = await connectAs("cli");
const runner = await holdingRunner(await connectAs("runner"), redis.url);
const person = client(cli, { explainPolicy, validatePolicy });
const brokerBus = await connectAs("broker");
const broker = client(brokerBus, { checkPolicy, filterPolicy });
/** The same subject without the schemas, as a caller without our types sends to it. */
const uncheckedCheck = rpc({
  subject: checkPolicy.subject,
  summary: checkPolicy.summary,
  request: z.unknown(),
  reply: z.unknown(),
});

const seedFile = join(directory, "policy.nk");
await writeFile(seedFile, seedOf("policy"), { mode: 0o600 });
const environment = {
  YARD_NATS_URL: nats.url,
  YARD_NATS_NKEY_FILE: seedFile,
  YARD_REDIS_URL: redis.url,
  YARD_POLICY_FILE: policyFile,
  YARD_KEYS_DIR: directory,
};
const withMessage = (message: string) => (record: LogRecord) => record["msg"] === message;

const policy = startPolicy(environment);
const ready = await policy.logged(withMessage("service ready"));

const grantRequest = {
  runId: "run-1",
  agent: "demo",
  requester: "cli",
  tools: [["mcp__files__*"]],
  ttlSeconds: 600,
};

test("a run gets a token, and its calls are decided by the token's claims [X40]", async () => {
  const before = Date.now();
  const { token, expiresAt, policyDigest } = await runner.grantRun(grantRequest);
  const ttlMs = Date.parse(expiresAt) - before;
  assert.ok(ttlMs > 598_000 && ttlMs < 610_000, `expires in ${ttlMs} ms`);

  // The provider's caller is the runner; the principal comes from the token alone.
  const asked = { onBehalfOf: "runner", token, args: {} };
  const principal = { user: "cli", agent: "demo", runId: "run-1" };
  const cacheable = { revision: policyDigest, forMs: 500 };
  // Each answer contains the reference of its audit record.
  const {
    audit: allowedIn,
    signed,
    ...allowed
  } = await broker.checkPolicy({ ...asked, tool: READ });
  const { audit: deniedIn, ...denied } = await broker.checkPolicy({ ...asked, tool: WRITE });
  assert.notEqual(allowedIn, deniedIn);
  assert.equal(signed?.keptForMs, cacheable.forMs);
  assert.deepEqual(allowed, {
    cacheable,
    decision: {
      effect: "allow",
      rule: "demo-reads",
      reason: "rule demo-reads allows mcp__files__read_file",
      policyDigest,
      tier: "auto",
    },
    principal,
    epoch: 1,
  });
  assert.deepEqual(denied, {
    cacheable,
    decision: {
      effect: "deny",
      rule: "no-writes",
      reason: "rule no-writes denies mcp__files__write_file: the demo reads and never writes",
      policyDigest,
    },
    principal,
    epoch: 1,
  });
  const outside = await broker.checkPolicy({ ...asked, tool: ECHO });
  assert.equal(outside.decision.rule, null);
  assert.match(outside.decision.reason, /^agent demo may not use mcp__everything__echo/);
});

test("an agent's roles are trusted from its token alone [A7]", async () => {
  const { token } = await runner.grantRun({ ...grantRequest, roles: ["reader", "planner"] });
  const request = { onBehalfOf: "runner", token, args: {}, tool: READ };
  const { principal } = await broker.checkPolicy(request);
  assert.deepEqual(principal.roles, ["reader", "planner"]);
  const listed = await broker.filterPolicy({ onBehalfOf: "runner", token, tools: [READ] });
  assert.deepEqual(listed.principal, principal);
  await assert.rejects(
    broker.checkPolicy({ ...request, roles: ["admin"] } as typeof request),
    isCode("invalid_request"),
  );
});

test("without a token the decision is about the caller that the provider names", async () => {
  const asked = { onBehalfOf: "cli", args: {} };
  const echo = await broker.checkPolicy({ ...asked, tool: ECHO });
  assert.equal(echo.decision.rule, "people-echo");
  assert.deepEqual(echo.principal, { user: "cli", agent: null, runId: null });
  const read = await broker.checkPolicy({ ...asked, tool: READ });
  assert.equal(read.decision.reason, "no rule allows mcp__files__read_file for user cli");
});

test("a list is filtered to the tools that the principal may use, in its order", async () => {
  const { token, policyDigest } = await runner.grantRun(grantRequest);
  const tools = [WRITE, READ, GIT, ECHO];
  assert.deepEqual(await broker.filterPolicy({ onBehalfOf: "runner", token, tools }), {
    allowed: [READ.name],
    policyDigest,
    principal: { user: "cli", agent: "demo", runId: "run-1" },
    cacheable: { revision: policyDigest, forMs: 500 },
  });
  const empty = await broker.filterPolicy({ onBehalfOf: "runner", token, tools: [] });
  assert.equal(empty.cacheable, undefined, "no change of rules waits for an empty list");
  const { allowed } = await broker.filterPolicy({ onBehalfOf: "cli", tools });
  assert.deepEqual(allowed, [ECHO.name]);
});

test("a token that is expired, tampered with, foreign or no token is refused", async () => {
  const { token } = await runner.grantRun(grantRequest);
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<
    string,
    unknown
  >; // our own token
  const widened = Buffer.from(JSON.stringify({ ...claims, tools: [] })).toString("base64url");
  const foreign = await createRunTokenSigner((await createRunTokenKey()).privateJwk);
  const own = await createRunTokenSigner(runTokenKey.privateJwk);
  const now = Math.floor(Date.now() / 1000);
  const good: RunTokenClaims = {
    iss: RUN_TOKEN_ISSUER,
    aud: RUN_TOKEN_AUDIENCE,
    sub: "demo",
    run: "run-1",
    requester: "cli",
    tools: [],
    iat: now - 60,
    exp: now + 60,
  };
  const cases = {
    expired: await own({ ...good, exp: now - 1 }),
    signature: await foreign(good),
    malformed: "not-a-token",
    claims: await own({ ...good, iat: now + 3_000, exp: now + 3_600 }),
  };
  const refused = Object.entries(cases).concat([
    ["signature", `${header}.${widened}.${signature}`],
  ]);
  for (const [reason, bad] of refused) {
    const request = { onBehalfOf: "cli", token: bad, args: {}, tool: ECHO };
    await assert.rejects(broker.checkPolicy(request), (error) => {
      assert.ok(isError(error, checkPolicy, "invalid_token"), `${reason}: ${String(error)}`);
      assert.deepEqual(error.data, { reason });
      return true;
    });
    await assert.rejects(
      broker.filterPolicy({ onBehalfOf: "cli", token: bad, tools: [ECHO] }),
      (error) => isError(error, filterPolicy, "invalid_token"),
    );
  }
  const allowed = await broker.checkPolicy({ onBehalfOf: "cli", tool: ECHO, args: {} });
  assert.equal(allowed.decision.effect, "allow", "the same call without a token is allowed");
});

test("requests that break the contract are refused and the service continues", async () => {
  const bad = [
    null,
    { onBehalfOf: "Not A User", tool: READ, args: {} },
    { onBehalfOf: "cli", tool: { ...READ, extra: 1 }, args: {} },
    { onBehalfOf: "cli", tool: READ, args: "text" },
    { onBehalfOf: "cli", agent: "demo", tool: READ, args: {} },
    { onBehalfOf: "cli", token: "x".repeat(8_193), tool: READ, args: {} },
  ];
  for (const request of bad) {
    await assert.rejects(call(brokerBus, uncheckedCheck, request), isCode("invalid_request"));
  }
  const { decision } = await broker.checkPolicy({ onBehalfOf: "cli", tool: ECHO, args: {} });
  assert.equal(decision.effect, "allow");
});

test("only a runner gets tokens, and only tool providers get decisions", async () => {
  await assert.rejects(call(cli, grantRun, grantRequest), isCode("forbidden"));
  const request = { onBehalfOf: "cli", tool: ECHO, args: {} };
  await assert.rejects(call(cli, checkPolicy, request), isCode("forbidden"));
});

test("a person can explain the decision about any call, and the provider gets the same one", async () => {
  const explained = await person.explainPolicy({
    user: "cli",
    agent: "demo",
    tool: WRITE,
    args: { path: "a" },
  });
  const { token } = await runner.grantRun(grantRequest);
  const asked = { onBehalfOf: "runner", token, tool: WRITE, args: { path: "a" } };
  assert.deepEqual(explained.decision, (await broker.checkPolicy(asked)).decision);
  assert.deepEqual(
    explained.considered.map(({ rule, match }) => [rule, match]),
    [
      ["demo-reads", true],
      ["no-writes", true],
      ["people-echo", false],
    ],
  );
  assert.deepEqual(explained.considered[2]?.failed, {
    part: "what.tools",
    expected: "everything.echo",
    got: "mcp__files__write_file",
  });
});

test("explanations are for people: no service may request one", async () => {
  const request = { user: "cli", tool: ECHO, args: {} };
  await assert.rejects(call(brokerBus, explainPolicy, request), isCode("forbidden"));
  await assert.rejects(call(brokerBus, validatePolicy, {}), isCode("forbidden"));
});

test("a text is checked, tested and linted without coming into force", async () => {
  const before = await person.validatePolicy({});
  assert.deepEqual(
    { valid: before.valid, rules: before.rules, tests: before.tests, findings: before.findings },
    { valid: true, rules: 3, tests: [], findings: [] },
  );
  const candidate = await person.validatePolicy({
    bundleText: `${RULES}  - { id: none, effect: deny }\n`,
    testsText:
      "tests:\n  - { name: reads, given: { agent: demo, tool: files.read_file }, expect: allow }\n",
  });
  assert.equal(candidate.valid, false);
  assert.deepEqual(candidate.tests, [
    {
      name: "reads",
      file: "tests",
      line: 2,
      passed: false,
      message: "expected allow, got deny by none: rule none denies mcp__files__read_file",
    },
  ]);
  assert.deepEqual(
    candidate.findings.map(({ kind, rule }) => [kind, rule]),
    [
      ["dead", "demo-reads"],
      ["dead", "people-echo"],
    ],
  );
  const broken = await person.validatePolicy({ bundleText: "version: 2\nrules: []\n" });
  assert.deepEqual([broken.valid, broken.policyDigest], [false, null]);
  assert.equal(broken.problems[0]?.message, "version must be 1");
  assert.equal((await person.validatePolicy({})).policyDigest, before.policyDigest);
});

test("a policy file that breaks while the service runs is refused, reported and not applied", async () => {
  const asked = { onBehalfOf: "cli", tool: ECHO, args: {} };
  const { audit: recordedFirst, signed: _, ...before } = await broker.checkPolicy(asked);
  await replacePolicy(RULES.replace("effect: allow", "efect: allow"));
  const warning = await policy.logged(withMessage("policy file refused, the old one stays"));
  assert.match(String(warning["errors"]), /rules\.yaml:4:23: unknown key "efect"/);
  const { audit: recordedThen, signed, ...later } = await broker.checkPolicy(asked);
  assert.notEqual(recordedThen, recordedFirst);
  assert.deepEqual(later, before);
  assert.ok(signed !== undefined, "each decision is signed");
  assert.match(await metrics(), /^yard_policy_file_refused\{service="policy"\} 1$/m);

  await replacePolicy(RULES.replace("people-echo, effect: allow", "people-echo, effect: deny"));
  const activated = await policy.logged(
    (record) =>
      record["msg"] === "policy in force" &&
      record["policyDigest"] !== before.decision.policyDigest,
  );
  const { decision } = await broker.checkPolicy(asked);
  assert.equal(decision.reason, "rule people-echo denies mcp__everything__echo");
  assert.equal(decision.policyDigest, activated["policyDigest"]);
  assert.match(await metrics(), /^yard_policy_file_refused\{service="policy"\} 0$/m);
});

test("changes of the policy file are published as events", async () => {
  const subjects: string[] = [];
  const filters = ["yard.evt.policy.rules.>"];
  for await (const event of readEvents(cli, { filters, from: "beginning" })) {
    subjects.push(event.subject);
    if (event.contract?.name === bundleRefused.name) {
      const fact = bundleRefused.payload.parse(event.payload);
      assert.match(fact.errors.join("\n"), /unknown key "efect"/);
    } else {
      assert.equal(bundleActivated.payload.parse(event.payload).rules, 3);
    }
    if (subjects.length === 3) break;
  }
  assert.deepEqual(subjects, [
    "yard.evt.policy.rules.activated",
    "yard.evt.policy.rules.refused",
    "yard.evt.policy.rules.activated",
  ]);
});

test("decisions are counted and timed, and the bundle in force is named", async () => {
  const text = await metrics();
  assert.match(text, /^yard_policy_decisions_total\{effect="allow",service="policy"\} [1-9]/m);
  assert.match(text, /^yard_policy_decisions_total\{effect="deny",service="policy"\} [1-9]/m);
  assert.match(text, /^yard_policy_decision_seconds_count\{service="policy"\} [1-9]/m);
  const infos = text.match(/^yard_policy_bundle_info\{.*$/gm) ?? [];
  assert.equal(infos.length, 1, "an older bundle's line is gone");
  assert.match(infos[0] ?? "", /bundle="rules",digest="sha256:[0-9a-f]{64}"/);
});

test("the service is found by discovery", async () => {
  const found = await discoverServices(cli);
  const service = found.find(({ name }) => name === "policy");
  const served = service?.endpoints.map(({ subject }) => subject) ?? [];
  const owned = contractsByOwner.policy.filter(isRpc).map(({ name }) => `yard.rpc.*.${name}`);
  assert.deepEqual(served.toSorted(), owned.toSorted());
});

test("arguments, tokens and keys are never logged", () => {
  const log = JSON.stringify(policy.records);
  const { d } = JSON.parse(runTokenKey.privateJwk) as { d: string }; // made by createRunTokenKey
  assert.equal(log.includes(d), false);
  assert.equal(log.includes("eyJ"), false, "no JWS");
});

const broken = join(directory, "broken.yaml");
await writeFile(broken, "version: 1\nrules:\n  - { id: a, effect: allow, approved: auto }\n");

test("the rules that were in force stay so when the service starts with a policy that is missing or has errors", async () => {
  const policyFiles = [broken, join(directory, "no-such.yaml")];
  for (const YARD_POLICY_FILE of policyFiles) {
    const started = startPolicy({ ...environment, YARD_POLICY_FILE });
    const { policyDigest, errors } = await started.logged(
      withMessage("policy file refused, the old one stays"),
    );
    assert.match(String(policyDigest), /^sha256:/);
    assert.match(String(errors), /broken\.yaml:3:29|no-such\.yaml/);
    await started.logged(withMessage("service ready"));
    started.stop();
    assert.equal(await started.exited, 0);
  }
});

test("a policy with errors on an empty Redis, or an invalid key, keeps the service from starting", async () => {
  const { url } = await testRedis();
  const badPolicy = startPolicy({
    ...environment,
    YARD_REDIS_URL: url,
    YARD_POLICY_FILE: broken,
  });
  const keys = await testDirectory();
  await writeFile(join(keys, "run-token.jwk"), "no key");
  const badKey = startPolicy({ ...environment, YARD_KEYS_DIR: keys });
  assert.equal(await badPolicy.exited, 1);
  assert.match(fatalReason(badPolicy.records), /broken\.yaml:3:29: unknown key "approved"/);
  assert.equal(await badKey.exited, 1);
  assert.match(fatalReason(badKey.records), /holds no private Ed25519 key/);
});

test("a key that others may read is warned about, and the service stops cleanly", async () => {
  const keys = await testDirectory();
  const open = join(keys, "run-token.jwk");
  await writeFile(open, runTokenKey.privateJwk);
  await chmod(open, 0o644);
  const second = startPolicy({ ...environment, YARD_KEYS_DIR: keys });
  await second.logged(withMessage("service ready"));
  const warned = second.records.some(
    withMessage("run token key is open to other users, use mode 0600"),
  );
  assert.equal(warned, true);
  second.stop();
  assert.equal(await second.exited, 0);
});

/** The rename is atomic, so no half-written file can be read. */
async function replacePolicy(text: string): Promise<void> {
  await writeFile(`${policyFile}.new`, text);
  await rename(`${policyFile}.new`, policyFile);
}

function isCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

function fatalReason(records: readonly LogRecord[]): string {
  return String(records.find((record) => record["level"] === "fatal")?.["reason"]);
}

async function metrics(): Promise<string> {
  return (await fetch(`${String(ready["healthUrl"])}/metrics`)).text();
}
