import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { publishEvent } from "@switchyard/bus/publish";
import { runFinished, runStarted } from "@switchyard/contracts/agent-runner/run-events";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import { createSecretCipher } from "@switchyard/service/secret-cipher";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import { createWebhookSecrets } from "./webhook-secrets.ts";
import { testConstants } from "@switchyard/testing/test-constants";

/** The Redis key of all webhooks. */
const ALL = "yard:gateway:{webhooks}:all";

const world = await startGatewayWorld();
const keyFile = join(await testDirectory(), "webhooks.key");
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
await writeFile(keyFile, oldKey.toString("base64"), { mode: 0o600 });
const settings = {
  YARD_KEYS_DIR: dirname(keyFile),
  YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
};
const constants = { webhooksRetryMs: 2, webhooksPerCaller: 8 };
const killable = { ...settings, ...testConstants(constants) };
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: world.redisUrl, name: "test", log });
after(() => redis.disconnect());
const first = await world.startGatewayProcess(killable);
const second = await world.startGatewayProcess(killable);
const { key } = await world.keyOf("team-a", ["operator"]);
const { key: keyB } = await world.keyOf("team-b", ["operator"]);
const runner = await world.connectAs("runner");

interface Received {
  readonly path: string;
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly text: string;
  readonly body: { type: string; timestamp: string; data: { runId: string; seq: number } };
}
/** All requests that the receiver got, and the status that each path answers; 0 is no answer. */
const received: Received[] = [];
const answers = new Map<string, number>();
const receiver = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8").on("data", (part: string) => (text += part));
  request.on("end", () => {
    const path = request.url ?? "";
    const header = (name: string) => String(request.headers[name]);
    received.push({
      path,
      id: header("webhook-id"),
      timestamp: header("webhook-timestamp"),
      signature: header("webhook-signature"),
      text,
      body: JSON.parse(text) as Received["body"],
    });
    const status = answers.get(path) ?? 204;
    if (status === 0) return;
    response.writeHead(status, status === 302 ? { location: "/redirected" } : {}).end();
  });
});
await once(receiver.listen(0, "127.0.0.1"), "listening");
after(() => {
  receiver.close();
  receiver.closeAllConnections();
});
const target = (path: string) =>
  `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`; // The receiver listens on a port.

interface Shown {
  id: string;
  status: string;
  reason: string | null;
  failingSince: string | null;
  lastError: string | null;
}
interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly body: {
    webhook?: Shown;
    secret?: string;
    webhooks?: Shown[];
    pending?: number;
    dead?: { deliveryId: string; event: string; attempts: number; error: string }[];
    redelivered?: number;
    code?: string;
    detail?: string;
  };
}
async function ask(
  method: string,
  path: string,
  {
    body,
    as = key,
    at = second.url,
    ifMatch,
  }: { body?: object; as?: string; at?: string; ifMatch?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${at}/api/v1/webhooks${path}`, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      "content-type": "application/json",
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const etag = response.headers.get("etag") ?? "";
  return { status: response.status, etag, body: (await response.json()) as Answer["body"] };
}
async function create(
  path: string,
  more: object = {},
  at = second.url,
): Promise<{ id: string; secret: string }> {
  const body = { url: target(path), events: ["run.finished"], ...more };
  const { status, body: made } = await ask("POST", "", { body, at });
  assert.equal(status, 201, JSON.stringify(made));
  return { id: made.webhook?.id ?? assert.fail(), secret: made.secret ?? assert.fail() };
}
const show = async (id: string) => (await ask("GET", `/${id}`)).body;
const heardAt = (path: string) => received.filter((one) => one.path === path);

let runs = 0;
/** Stores the last event of a run, which is found by its id; `again` is the id of one whose event is stored again. */
async function finish({
  owner = "team-a",
  agent = "",
  output = "done",
  again = "",
} = {}): Promise<string> {
  const number = again === "" ? (runs += 1) : Number(again.split("-").at(-1));
  const name = `run-${number}`;
  const runId = `${owner}~${name}`;
  const at = new Date(number).toISOString();
  const tokens = { owner, runId: name };
  if (agent !== "")
    await publishEvent(runner, runStarted, tokens, {
      runId,
      seq: 1,
      at,
      agent,
      agentDigest: `sha256:${"0".repeat(64)}`,
      requester: owner,
      model: "scripted/plan",
      labels: {},
    });
  await publishEvent(runner, runFinished, tokens, {
    runId,
    seq: 2,
    at,
    output,
    model: "scripted/plan",
    steps: 1,
    toolCalls: 0,
    usage: { inputTokens: 1, outputTokens: 1 },
    durationMs: 1,
  });
  return runId;
}
/** Stores the ends of so many runs, a few at once: nats-server writes each to the disk, and a publisher waits 5 s for its own. */
async function finishMany(count: number, options: { output?: string } = {}): Promise<void> {
  const AT_ONCE = 60;
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - from) }, () => finish(options)),
    );
}
function signatureOf({ id, timestamp, text }: Received, secret: string): string {
  const hmac = createHmac("sha256", Buffer.from(secret.slice(6), "base64"));
  return `v1,${hmac.update(`${id}.${timestamp}.${text}`).digest("base64")}`;
}
const runsAt = (path: string) => heardAt(path).map(({ body }) => body.data.runId);

test("an event of the caller is sent at once, signed as a Standard Webhook, and no other caller's is", async () => {
  const { id, secret } = await create("/good");
  const foreign = await finish({ owner: "team-b" });
  const own = await finish();
  await until(() => runsAt("/good").includes(own));
  const sent = heardAt("/good")[0] ?? assert.fail();
  assert.equal(sent.body.type, "run.finished");
  assert.match(sent.id, new RegExp(`^msg_[0-9a-f]{24}_${id.slice(4)}$`));
  assert.equal(sent.signature, signatureOf(sent, secret));
  assert.ok(Math.abs(Date.now() / 1_000 - Number(sent.timestamp)) < 60);
  assert.ok(!received.some(({ body }) => body.data.runId === foreign));
  await until(async () => (await show(id)).pending === 0);
  await ask("DELETE", `/${id}`);
});

test("only events that fit the filter are sent, by name and by the run's agent", async () => {
  const all = await create("/all", { events: ["run.*"] });
  const other = await create("/other", { events: ["session.*", "run.failed"] });
  const agent = await create("/agent", { events: ["run.*"], agent: "triage" });
  const wanted = await finish({ agent: "triage" });
  const unwanted = await finish({ agent: "other" });
  const last = await finish({ agent: "triage" });
  await until(() => runsAt("/agent").filter((run) => run === last).length === 2);
  await until(() => runsAt("/all").length === 6);
  await until(async () => (await show(agent.id)).pending === 0);
  assert.deepEqual(new Set(runsAt("/agent")), new Set([wanted, last]));
  assert.deepEqual(new Set(runsAt("/all")), new Set([wanted, unwanted, last]));
  assert.deepEqual(runsAt("/other"), []);
  for (const { id } of [all, other, agent]) await ask("DELETE", `/${id}`);
});

test("a webhook is its owner's: no other caller sees, changes or ends it, and its secret is shown once", async () => {
  const { id, secret } = await create("/mine");
  for (const [method, path] of [
    ["GET", `/${id}`],
    ["PATCH", `/${id}`],
    ["DELETE", `/${id}`],
    ["POST", `/${id}/redeliver`],
    ["GET", "/whk-0000000000000000"],
  ] as const) {
    const { status, body } = await ask(method, path, {
      as: keyB,
      ...(method === "POST" && { body: {} }),
    });
    assert.deepEqual([status, body.code], [404, "unknown_webhook"], `${method} ${path}`);
  }
  assert.deepEqual((await ask("GET", "", { as: keyB })).body.webhooks, []);
  const listed = await ask("GET", "");
  assert.ok(listed.body.webhooks?.some((one) => one.id === id));
  for (const answer of [listed, await ask("GET", `/${id}`)])
    assert.ok(!JSON.stringify(answer).includes(secret.slice(6)));
  const { key: viewer } = await world.keyOf("team-a", ["viewer"]);
  const refused = await ask("DELETE", `/${id}`, { as: viewer });
  assert.deepEqual([refused.status, refused.body.code], [403, "forbidden"]);
  assert.equal((await ask("DELETE", `/${id}`)).status, 200);
  assert.equal((await ask("GET", `/${id}`)).status, 404);
});

test("a webhook is changed for the version that its owner has read, keeps its secret, and sends elsewhere from then on", async () => {
  const { id, secret } = await create("/before", { agent: "triage" });
  const read = await ask("GET", `/${id}`);
  const changes = { url: target("/behind"), events: ["run.*"], agent: null };
  const changed = await ask("PATCH", `/${id}`, { body: changes, ifMatch: read.etag });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.partialDeepStrictEqual(changed.body.webhook, { id, ...changes, status: "enabled" });
  const late = await ask("PATCH", `/${id}`, {
    body: { events: ["run.failed"] },
    ifMatch: read.etag,
  });
  assert.deepEqual([late.status, late.body.code], [412, "version_changed"]);
  for (const body of [
    { url: "http://169.254.169.254/" },
    { url: "file:///etc/passwd" },
    { events: [] },
    { secret: "whsec_AAAA" },
    { status: "disabled" },
  ])
    assert.equal((await ask("PATCH", `/${id}`, { body })).status, 400, JSON.stringify(body));
  const own = await finish();
  await until(() => runsAt("/behind").includes(own));
  const sent = heardAt("/behind")[0] ?? assert.fail();
  assert.equal(sent.signature, signatureOf(sent, secret));
  assert.deepEqual(heardAt("/before"), []);
  await ask("DELETE", `/${id}`);
});

test("addresses that are not public get nothing, however they are written, and a redirect is not followed", async () => {
  for (const url of [
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.1/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://0x0a000001/",
    "http://user:password@example.com/",
  ]) {
    const { status, body } = await ask("POST", "", { body: { url, events: ["run.*"] } });
    assert.deepEqual([status, body.code], [400, "invalid_target"], url);
  }
  for (const url of ["file:///etc/passwd", "ftp://example.com/", "nothing"])
    assert.equal((await ask("POST", "", { body: { url, events: ["run.*"] } })).status, 400, url);
  answers.set("/moved", 302);
  const moved = await create("/moved");
  await finish();
  await until(async () => (await show(moved.id)).webhook?.lastError?.includes("302") === true);
  assert.deepEqual(heardAt("/redirected"), []);
  await ask("DELETE", `/${moved.id}`);
});

test("what fails is tried again later and later, then given up, and sent again when asked for, under the same id", async () => {
  answers.set("/broken", 500);
  const { id } = await create("/broken");
  const run = await finish();
  await until(() => heardAt("/broken").length >= 2);
  await until(async () => (await show(id)).dead?.length === 1);
  assert.equal(heardAt("/broken").length, 8);
  const { dead, webhook, pending } = await show(id);
  const [given] = dead ?? [];
  assert.deepEqual([given?.event, given?.attempts, pending], ["run.finished", 8, 0]);
  assert.match(given?.error ?? "", /answered 500/);
  assert.notEqual(webhook?.failingSince, null);
  answers.delete("/broken");
  const unknown = await ask("POST", `/${id}/redeliver`, { body: { deliveryId: "msg_1_none" } });
  assert.deepEqual([unknown.status, unknown.body.code], [404, "unknown_delivery"]);
  const again = await ask("POST", `/${id}/redeliver`, { body: {} });
  assert.equal(again.body.redelivered, 1);
  await until(async () => (await show(id)).pending === 0);
  assert.equal(heardAt("/broken").length, 9);
  assert.equal(new Set(heardAt("/broken").map((one) => one.id)).size, 1);
  assert.deepEqual(new Set(runsAt("/broken")), new Set([run]));
  const shown = await show(id);
  assert.deepEqual([shown.dead, shown.webhook?.failingSince], [[], null]);
  await ask("DELETE", `/${id}`);
});

test("a receiver that is gone is left alone until its owner asks", async () => {
  answers.set("/gone", 410);
  const { id } = await create("/gone");
  await finish();
  await until(async () => (await show(id)).dead?.length === 1);
  const { webhook } = await show(id);
  assert.deepEqual([webhook?.status, webhook?.reason], ["disabled", "gone"]);
  const witness = await create("/witness");
  const missed = await finish();
  await until(() => runsAt("/witness").includes(missed));
  answers.delete("/gone");
  assert.equal(
    (await ask("POST", `/${id}/redeliver`, { body: {} })).body.webhook?.status,
    "enabled",
  );
  const next = await finish();
  await until(() => runsAt("/gone").includes(next));
  assert.ok(!runsAt("/gone").includes(missed));
  for (const one of [id, witness.id]) await ask("DELETE", `/${one}`);
});

test("a caller has as many webhooks as the setting says", async () => {
  const made = [];
  for (let n = 0; n < 8; n += 1) made.push(await create("/many"));
  const body = { url: target("/many"), events: ["run.*"] };
  const { status, body: refused } = await ask("POST", "", { body });
  assert.deepEqual([status, refused.code], [409, "too_many_webhooks"]);
  assert.equal((await ask("POST", "", { body, as: keyB })).status, 201);
  for (const { id } of made) await ask("DELETE", `/${id}`);
  const { id } = await create("/many");
  await ask("DELETE", `/${id}`);
});

test("Redis has no secret as it is; one of before there was a key is encrypted at the next start, and one of an older key anew", async () => {
  const { id, secret } = await create("/sealed");
  const kept = async () => (await redis.hget(ALL, id)) ?? assert.fail("it is not kept");
  const secretIn = (text: string) => (JSON.parse(text) as { secret: string }).secret;
  const isPlain = async () => (await everythingIn(redis)).includes(secret.slice(6));
  assert.equal(await isPlain(), false);
  const before = await kept();
  const plain = before.replace(secretIn(before), secret);
  await redis.hset(ALL, id, plain);
  assert.equal(await isPlain(), true);

  const without: Record<string, string> = { ...settings, YARD_KEYS_DIR: "" };
  await brief(without, async (at) => {
    const body = { url: target("/none"), events: ["run.*"] };
    const { status, body: refused } = await ask("POST", "", { body, at });
    assert.deepEqual([status, refused.code], [409, "webhook_key_missing"]);
    assert.match(refused.detail ?? "", /YARD_KEYS_DIR/);
  });
  assert.equal(await kept(), plain);
  await brief(settings, () => until(async () => (await kept()) !== plain));
  assert.equal(await isPlain(), false);
  const old = await kept();
  const bothFile = join(await testDirectory(), "webhooks.key");
  const both = `${newKey.toString("base64")},${oldKey.toString("base64")}`;
  await writeFile(bothFile, both, { mode: 0o600 });
  await brief({ ...settings, YARD_KEYS_DIR: dirname(bothFile) }, () =>
    until(async () => (await kept()) !== old),
  );
  const newest = createWebhookSecrets(createSecretCipher([newKey]));
  assert.equal(newest.open(id, secretIn(await kept())), secret);
  await ask("DELETE", `/${id}`);
});

test("a webhook for which a thousand deliveries wait is disabled, and nothing of it waits any more", async () => {
  answers.set("/slow", 0);
  const { id } = await create("/slow");
  await finishMany(1_020);
  await until(async () => (await show(id)).webhook?.status === "disabled");
  const { webhook } = await show(id);
  assert.equal(webhook?.reason, "backlog");
  // Attempts under way fail when the receiver has not answered for ten seconds.
  const pending = async () => (await show(id)).pending;
  await until(pending, (count) => count === 0, { timeoutMs: 120_000 });
  const { dead = [] } = await show(id);
  assert.equal(dead.length, 100);
  assert.ok(dead.some(({ error }) => /not sent: the webhook is disabled/.test(error)));
  await ask("DELETE", `/${id}`);
});

test("so is one for which four mebibytes wait, and all of that goes with it", async () => {
  const { id } = await create("/slow");
  const deliveries = () => redis.hvals("yard:gateway:{webhooks}:deliveries");
  const waiting = async () => (await deliveries()).filter((text) => text.includes(id));
  await finishMany(80, { output: "x".repeat(60_000) });
  await until(async () => (await show(id)).webhook?.reason === "backlog");
  const { length } = (await waiting()).join("");
  assert.ok(length > 0 && length <= 5 * 1024 ** 2, String(length));
  await ask("DELETE", `/${id}`);
  assert.deepEqual(await waiting(), []);
});

test("while Redis is full no webhook is made, and events that come then are sent later", async () => {
  const { id } = await create("/patient");
  await redis.config("SET", "maxmemory", 1);
  const body = { url: target("/never"), events: ["run.finished"] };
  const isFull = async (): Promise<boolean> => {
    const { body: answer } = await ask("POST", "", { body });
    if (answer.webhook !== undefined) await ask("DELETE", `/${answer.webhook.id}`);
    return answer.code === "storage_full";
  };
  await until(isFull);
  const run = await finish();
  await redis.config("SET", "maxmemory", 0);
  await until(() => runsAt("/patient").includes(run));
  await until(async () => !(await isFull()));
  await ask("DELETE", `/${id}`);
});

test("what gets the numbers of events that nats-server has lost is sent, and what is published again has the same id", async () => {
  const isUp = () => Promise.resolve(runner.status === "connected");
  const { id } = await create("/lossy");
  const before = await finish();
  await until(() => runsAt("/lossy").includes(before));
  await world.nats.remember();
  await until(isUp);
  const lost = [await finish(), await finish(), await finish()];
  await until(() => lost.every((run) => runsAt("/lossy").includes(run)));
  // The sequence at which it begins is assigned a second time, too.
  const late = await create("/late");
  await world.nats.goBack();
  await until(isUp);
  const [again = ""] = lost;
  await finish({ again });
  const later = [await finish(), await finish(), await finish()];
  for (const path of ["/lossy", "/late"])
    await until(() => later.every((run) => runsAt(path).includes(run)));
  const ids = new Set(heardAt("/lossy").map((one) => one.id));
  assert.equal(ids.size, 1 + lost.length + later.length);
  assert.deepEqual(new Set(runsAt("/lossy")), new Set([before, ...lost, ...later]));
  for (const one of [id, late.id]) await ask("DELETE", `/${one}`);
});

test("gateways that are killed while events come lose none of them", async () => {
  const third = await world.startGatewayProcess(killable);
  answers.set("/kept", 503);
  const { id } = await create("/kept");
  const expected = new Set<string>();
  for (let n = 0; n < 20; n += 1) expected.add(await finish());
  await until(() => heardAt("/kept").length > 0);
  // The replica that reads the events is among them.
  for (const { child } of [first, second]) child.kill("SIGKILL");
  for (let n = 0; n < 20; n += 1) expected.add(await finish());
  answers.delete("/kept");
  await until(() => [...expected].every((run) => runsAt("/kept").includes(run)));
  assert.deepEqual(new Set(runsAt("/kept")), expected);
  const ids = new Map(heardAt("/kept").map((one) => [one.body.data.runId, one.id]));
  assert.equal(new Set(ids.values()).size, expected.size);
  const { body } = await ask("GET", `/${id}`, { at: third.url });
  assert.equal(body.webhook?.status, "enabled");
});

/** Runs a gateway while `use` runs. */
async function brief(env: Record<string, string>, use: (url: string) => Promise<unknown>) {
  const gateway = await world.startGateway(env, constants);
  await use(gateway.url);
  await gateway.stop();
}

/** Resolves with every value in Redis, as one text. */
async function everythingIn(client: Redis): Promise<string> {
  const dumps = [];
  for (const name of await client.keys("*")) {
    const type = await client.type(name);
    if (type === "hash") dumps.push(...(await client.hvals(name)));
    if (type === "string") dumps.push(await client.get(name));
    if (type === "zset") dumps.push(...(await client.zrange(name, "0", "-1")));
  }
  return dumps.join("\n");
}
