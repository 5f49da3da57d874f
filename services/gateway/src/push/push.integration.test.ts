import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { call } from "@switchyard/bus/call";
import { publishEvent } from "@switchyard/bus/publish";
import { questionRequested, runStarted } from "@switchyard/contracts/agent-runner/run-events";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { denyCall } from "@switchyard/contracts/policy/approvals";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { revokeUserKey } from "@switchyard/contracts/policy/user-tokens";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { UserRole } from "@switchyard/contracts/user-roles";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testDirectory } from "@switchyard/testing/test-servers";
import { Browser } from "../../test/browser.ts";
import { startGatewayWorld, type Gateway } from "../../test/gateway-world.ts";
import { startPushService, type SubscribedBrowser } from "../../test/push-service.ts";

const world = await startGatewayWorld([], { YARD_APPROVERS: "cli" });
const service = await startPushService();
const keysDir = await testDirectory();
const keyFile = join(keysDir, "webhooks.key");
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
await writeFile(keyFile, oldKey.toString("base64"), { mode: 0o600 });
const settings = { YARD_KEYS_DIR: keysDir, YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS: "127.0.0.1" };
const constants = { pushOrigins: service.origin, pushRetryMs: 5 };
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: world.redisUrl, name: "test", log });
after(() => redis.disconnect());
const broker = await world.connectAs("broker");
const runner = await world.connectAs("runner");
const cli = await world.connectAs("cli");
let gateways: Gateway[] = [];
const start = async (more: Record<string, number> = {}): Promise<void> => {
  gateways = [
    await world.startGateway(settings, { ...constants, ...more }),
    await world.startGateway(settings, { ...constants, ...more }),
  ];
};
const stop = async (): Promise<void> => {
  for (const gateway of gateways) await gateway.stop();
};
await start();
/** The Redis key of all browsers that get web push. */
const PUSHED = "yard:gateway:{webhooks}:push";

interface Person extends SubscribedBrowser {
  readonly keyId: string;
  readonly send: (method: string, path: string, body?: object) => Promise<Response>;
}

/** A person who has signed in, and whose browser has subscribed until the end of the test. */
async function person(t: TestContext, caller: string, roles: UserRole[]): Promise<Person> {
  const { key, id: keyId } = await world.keyOf(caller, roles);
  return { keyId, ...(await signedIn(t, key)) };
}

async function signedIn(t: TestContext, key: string): Promise<Omit<Person, "keyId">> {
  const url = gateways[1]?.url ?? assert.fail();
  const browser = new Browser();
  const opened = await browser.send(`${url}/auth/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
  });
  const { csrfToken } = (await opened.json()) as { csrfToken: string };
  const headers = { "content-type": "application/json", "x-csrf-token": csrfToken };
  const send: Person["send"] = (method, path, body) =>
    browser.send(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  // The next test begins without browsers.
  t.after(() => redis.del(PUSHED));
  const found = await send("GET", "/api/v1/push");
  const { publicKey } = (await found.json()) as { publicKey: string };
  const subscribed = service.subscribe(publicKey);
  const put = await send("PUT", "/api/v1/push", subscribed.subscription);
  assert.equal(put.status, 200, await put.clone().text());
  return { ...subscribed, send };
}

/** Has a call wait for a person; returns the id of the approval. */
async function wait(user: string, tool = "write"): Promise<string> {
  const args = { secret: "an argument" };
  const asked = { onBehalfOf: user, tool: mcpToolRef("asked", tool), args };
  const { decision, principal } = await call(broker, checkPolicy, asked);
  const binding = bindingDigest({ ...asked, principal, caller: user, pin: undefined, decision });
  const attempt = randomUUID();
  const callId = `${user}:${attempt}`;
  const admission = await call(broker, admitCall, { ...asked, callId, decision, binding, attempt });
  return admission.outcome === "waiting" ? admission.approvalId : assert.fail(admission.outcome);
}

const textsOf = ({ messages }: SubscribedBrowser): unknown[] =>
  messages.map(({ text }) => JSON.parse(text) as unknown);
const idsOf = (browser: SubscribedBrowser): string[] =>
  textsOf(browser).map((shown) => (shown as { id: string }).id);
const got = (browser: SubscribedBrowser, id: string) =>
  until(
    () => idsOf(browser),
    (ids) => ids.includes(id),
  );
const stored = async (): Promise<string[]> => redis.hvals(PUSHED);
const code = async (response: Response): Promise<unknown> => [
  response.status,
  ((await response.json()) as { code?: string }).code,
];

test("a waiting call is sent once, to those alone who may decide about it, with names and no arguments", async (t) => {
  const approver = await person(t, "ann", ["approver"]);
  const others = [
    await person(t, "vic", ["viewer"]),
    await person(t, "carol", ["operator"]),
    await person(t, "bobs-approver", ["approver"]),
  ];
  t.after(() => assert.deepEqual(service.faults, []));
  const id = await wait("carol", "wr\u202eite");
  await got(approver, id);
  assert.deepEqual(textsOf(approver), [
    { id, title: "carol waits for your approval", body: "asked › wr\\u{202e}ite" },
  ]);
  const { ttl, topic } = approver.messages[0] ?? assert.fail();
  assert.ok(ttl > 500 && ttl <= 600, `TTL ${ttl}`);
  assert.match(topic ?? "", /^[\w-]{32}$/);
  const ofBob = await wait("bob");
  const last = await wait("carol");
  await got(approver, last);
  await got(others[2] ?? assert.fail(), ofBob);
  assert.deepEqual(idsOf(approver), [id, ofBob, last], "each is sent once by two replicas");
  assert.deepEqual(others.map(idsOf), [[], [], [ofBob]]);
});

test("a question goes to the browsers of the run's owner, without its text", async (t) => {
  const owner = await person(t, "dora", ["operator"]);
  const viewer = await person(t, "dora", ["viewer"]);
  const other = await person(t, "emil", ["operator"]);
  const tokens = { owner: "dora", runId: "asks" };
  const about = { runId: "dora~asks", at: new Date().toISOString() };
  const digest = `sha256:${"0".repeat(64)}`;
  const facts = {
    agent: "chooser",
    agentDigest: digest,
    requester: "dora",
    model: "scripted/plan",
    labels: {},
  };
  await publishEvent(runner, runStarted, tokens, { ...about, seq: 1, ...facts });
  const question = { question: "Which secret box?", options: [], until: about.at };
  const asked = { ...about, seq: 2, callId: "asks:1:0", ...question };
  await publishEvent(runner, questionRequested, tokens, asked);
  await got(owner, "question:asks:1:0");
  const shown = { title: "chooser has a question", body: "A run waits for it" };
  assert.deepEqual(textsOf(owner), [{ id: "question:asks:1:0", ...shown }]);
  await publishEvent(runner, questionRequested, tokens, { ...asked, seq: 3, callId: "asks:2:0" });
  await got(owner, "question:asks:2:0");
  assert.deepEqual([idsOf(viewer), idsOf(other)], [[], []]);
});

test("a browser is forgotten when its person turns it off, signs out, or loses the key of the sign-in", async (t) => {
  const witness = await person(t, "ann", ["approver"]);
  const off = await person(t, "fred", ["approver"]);
  const out = await person(t, "gina", ["approver"]);
  const revoked = await person(t, "hans", ["approver"]);
  await until(async () => (await stored()).length === 4);
  assert.equal((await off.send("DELETE", "/api/v1/push")).status, 200);
  assert.equal((await out.send("POST", "/auth/logout")).status, 200);
  await until(async () => (await stored()).length === 2);
  await call(cli, revokeUserKey, { id: revoked.keyId });
  await got(witness, await wait("carol"));
  await until(async () => (await stored()).length === 1);
  assert.deepEqual([off, out, revoked].map(idsOf), [[], [], []]);
});

test("what is stored shows neither the address of the browser nor the key of its session", async (t) => {
  const one = await person(t, "ann", ["approver"]);
  const [text = ""] = await stored();
  const { endpoint, keys } = one.subscription;
  for (const secret of [endpoint, keys.auth, keys.p256dh, "ys_"]) assert.ok(!text.includes(secret));
});

test("a subscription that the push service has no more is removed, after 404 and after 410", async (t) => {
  const [gone, unknown] = [
    await person(t, "ann", ["approver"]),
    await person(t, "ina", ["approver"]),
  ];
  gone.answers.push({ status: 410 });
  unknown.answers.push({ status: 404 });
  await wait("carol");
  await until(async () => (await stored()).length === 0);
  assert.deepEqual([gone.statuses, unknown.statuses], [[410], [404]]);
});

test("a push service that is busy gets the message again when it wants it, and one that refuses it does not", async (t) => {
  const [busy, strict] = [
    await person(t, "ann", ["approver"]),
    await person(t, "ina", ["approver"]),
  ];
  busy.answers.push({ status: 503 }, { status: 429, retryAfter: "1" });
  strict.answers.push({ status: 413 });
  const begun = Date.now();
  const id = await wait("carol");
  await got(busy, id);
  assert.deepEqual(busy.statuses, [503, 429, 201]);
  assert.ok(
    (busy.messages[0]?.atMs ?? 0) - begun >= 1_000,
    "it waited as long as Retry-After says",
  );
  assert.deepEqual(strict.statuses, [413]);
  await got(strict, await wait("carol"));
});

test("a message that waits for its next attempt is not sent when the call was decided meanwhile", async (t) => {
  const one = await person(t, "ann", ["approver"]);
  one.answers.push({ status: 429, retryAfter: "5" });
  const id = await wait("carol");
  await until(() => one.statuses.length === 1);
  await call(cli, denyCall, { id });
  const later = await wait("carol");
  await got(one, later);
  await until(() => Date.now() - (one.messages[0]?.atMs ?? 0) > 6_000);
  assert.deepEqual(idsOf(one), [later]);
});

test("only a browser's session subscribes, at a known push service, with real keys", async (t) => {
  const one = await person(t, "ann", ["approver"]);
  const { subscription } = one;
  const { keys } = subscription;
  for (const [wrong, refusal] of [
    [{ endpoint: "https://evil.test/push" }, "invalid_subscription"],
    [{ endpoint: "http://169.254.169.254/latest" }, "invalid_subscription"],
    [{ keys: { ...keys, p256dh: "BA".padEnd(87, "A") } }, "invalid_subscription"],
    [{ publicKey: keys.p256dh }, "invalid_subscription"],
    [{ keys: { ...keys, auth: "short" } }, "invalid_request"],
    [{ endpoint: `${service.origin}/${"x".repeat(2_048)}` }, "invalid_request"],
  ] as const) {
    const answer = await one.send("PUT", "/api/v1/push", { ...subscription, ...wrong });
    assert.deepEqual(await code(answer), [400, refusal], JSON.stringify(wrong));
  }
  const { key } = await world.keyOf("ann", ["approver"]);
  const url = gateways[0]?.url ?? assert.fail();
  const bearer = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify(subscription);
  const byKey = await fetch(`${url}/api/v1/push`, { method: "PUT", headers: bearer, body });
  assert.deepEqual(await code(byKey), [403, "session_required"]);
});

test("a user has ten browsers at most, and the oldest gives way", async (t) => {
  const { key } = await world.keyOf("jo", ["approver"]);
  const all = [];
  for (let n = 0; n < 11; n += 1) all.push(await signedIn(t, key));
  assert.equal((await stored()).length, 10);
  const id = await wait("carol");
  for (const one of all.slice(1)) await got(one, id);
  assert.deepEqual(idsOf(all[0] ?? assert.fail()), []);
});

test("without a key, and where pages come without https from elsewhere, there is no web push", async () => {
  const { YARD_KEYS_DIR: _, ...keyless } = settings;
  const remote = { ...settings, YARD_HTTP_URL: "http://switchyard.example" };
  const { key } = await world.keyOf("ann", ["approver"]);
  for (const env of [keyless, remote]) {
    const gateway = await world.startGateway(env, constants);
    const headers = { authorization: `Bearer ${key}` };
    const found = await fetch(`${gateway.url}/api/v1/push`, { headers });
    assert.deepEqual(await found.json(), { publicKey: null });
    await gateway.stop();
  }
});

test("a new key in front keeps browsers of the old one, and what came meanwhile is sent unless it is too old", async (t) => {
  const one = await person(t, "ann", ["approver"]);
  await got(one, await wait("carol"));
  await stop();
  const meanwhile = await wait("carol");
  await writeFile(keyFile, `${newKey.toString("base64")},${oldKey.toString("base64")}`);
  await start();
  await got(one, meanwhile);
  const renewed = await person(t, "kim", ["approver"]);
  assert.notEqual(renewed.subscription.publicKey, one.subscription.publicKey);
  await stop();
  const old = await wait("carol");
  const before = Date.now();
  await until(() => Date.now() - before > 6_000);
  await writeFile(keyFile, newKey.toString("base64"));
  await start({ pushNoteMs: 5_000 });
  const fresh = await wait("carol");
  await got(renewed, fresh);
  assert.ok(!idsOf(renewed).includes(old), "a note that is too old is not sent");
  // Without the old key its browser cannot be notified, and is removed.
  await until(async () => (await stored()).length === 1);
  assert.ok(!idsOf(one).includes(fresh));
  assert.deepEqual(service.faults, []);
});
