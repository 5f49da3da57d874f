import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readlink, realpath, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "@switchyard/local-servers/free-port";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { runCommands } from "@switchyard/topology/streams";
import { adminUser, client, type BusUser } from "@switchyard/topology/topology";
import { until } from "@switchyard/local-servers/until";
import { testConstants } from "@switchyard/testing/test-constants";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { fixtureCall } from "../test/fixture-contract.ts";
import { ENVIRONMENT_FROM_STDIN, environmentLine } from "./environment-from-stdin.ts";
import { EXIT_WITH_PARENT } from "./exit-with-parent.ts";
import { observe, startFixture, type ServiceProcess } from "../test/service-process.ts";

const nats = await testNats();
const redis = await testRedis();
const env = { YARD_NATS_URL: nats.url, YARD_REDIS_URL: redis.url };
const bus = await connectBus({ servers: nats.url, user: "caller" });
await ensureStreams(bus);
after(() => bus.close());

test("becomes ready, shows its health and metrics, and exits 0 on SIGTERM", async () => {
  const service = startFixture(env);
  const ready = await service.logged("service ready");
  assert.equal(ready["service"], "fixture");
  assert.equal(ready["instance"], `${hostname()}-${service.child.pid}`);
  assert.deepEqual(await get(service, "/livez"), { status: 200, body: { status: "ok" } });
  assert.deepEqual(await get(service, "/readyz"), {
    status: 200,
    body: { status: "ready", checks: { redis: "ok", bus: "ok", streams: "ok", fixture: "ok" } },
  });
  const metrics = await (await fetch(`${String(ready["healthUrl"])}/metrics`)).text();
  assert.match(metrics, /yard_build_info\{version="1\.2\.3",node="[^"]+",service="fixture"\} 1/);
  assert.match(metrics, /yard_ready\{service="fixture"\} 1/);
  assert.match(metrics, /process_cpu_seconds_total/);
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 0, signal: null });
  assert.deepEqual(messages(service), [
    "service ready",
    "service stopping",
    "fixture undone",
    "service stopped",
  ]);
});

test("answers the call in flight at SIGTERM with Redis still open, then exits 0", async () => {
  const service = startFixture(env);
  await service.logged("service ready");
  const reply = call(bus, fixtureCall, { does: "wait-for-stop" });
  await service.logged("handler entered");
  service.child.kill("SIGTERM");
  assert.deepEqual(await reply, { key: "OK" });
  assert.deepEqual(await service.exited, { code: 0, signal: null });
});

test("ends in order with exit 75 when it is to be started again, where that is permitted", async () => {
  const service = startFixture({ ...env, YARD_RESTARTS: "1" });
  await service.logged("service ready");
  assert.deepEqual(await call(bus, fixtureCall, { does: "restart" }), { key: null });
  assert.deepEqual(await service.exited, { code: 75, signal: null });
  assert.deepEqual(messages(service).slice(-3), [
    "service stopping",
    "fixture undone",
    "service stopped",
  ]);
  const other = startFixture(env);
  await other.logged("service ready");
  assert.deepEqual(await call(bus, fixtureCall, { does: "restart" }), { key: "not permitted" });
  other.child.kill("SIGTERM");
  assert.deepEqual(await other.exited, { code: 0, signal: null });
});

test("is alive but not ready while it drains, and a second signal ends it with exit 1", async () => {
  const service = await startHanging({ YARD_DRAIN_MS: "60000" });
  service.child.kill("SIGINT");
  await service.logged("service stopping");
  const readiness = await get(service, "/readyz");
  assert.equal(readiness.status, 503);
  assert.equal(readiness.body["status"], "stopping");
  assert.equal((await get(service, "/livez")).status, 200);
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 1, signal: null });
  assert.ok(messages(service).includes("second signal, exiting without waiting"));
});

test("exits 1 at the end of its drain time when a handler never ends", async () => {
  const service = await startHanging({ YARD_DRAIN_MS: "200" });
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 1, signal: null });
});

test("reports every bad variable in one fatal line and exits 1", async () => {
  const service = startFixture({ YARD_NATS_URL: "localhost", YARD_LOG_LEVEL: "loud" });
  assert.deepEqual(await service.exited, { code: 1, signal: null });
  assert.equal(service.records.length, 1);
  const [record] = service.records;
  assert.equal(record?.["level"], "fatal");
  assert.equal(record["err"], undefined);
  const problems = record["problems"] as { name: string }[];
  assert.deepEqual(
    problems.map((problem) => problem.name),
    ["YARD_LOG_LEVEL", "YARD_NATS_URL", "YARD_REDIS_URL"],
  );
});

test("exits 6 with the address and a hint when NATS or Redis is unreachable", async () => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  for (const [broken, reason] of [
    [{ YARD_NATS_URL: `nats://${nowhere}` }, /cannot reach NATS at .*127\.0\.0\.1/],
    [
      { YARD_REDIS_URL: `redis://u:canary-4711@${nowhere}` },
      /^Redis at redis:\/\/127\.0\.0\.1:\d+ is unreachable/,
    ],
  ] as const) {
    const service = startFixture({ ...env, ...broken, ...testConstants({ connectMs: 2_000 }) });
    assert.equal((await service.exited).code, 6);
    const [record] = service.records;
    assert.match(String(record?.["reason"]), reason);
    assert.match(String(record?.["hint"]), /yard dev/);
    assert.equal(record?.["err"], undefined, "no stack for an expected failure");
    assert.ok(!JSON.stringify(service.records).includes("canary-4711"));
  }
});

test("names what is missing on NATS and the command that makes it", async () => {
  const emptyNats = await testNats();
  const own = { YARD_NATS_URL: emptyNats.url, ...testConstants({ connectMs: 2_000 }) };
  const service = startFixture({ ...env, ...own });
  assert.equal((await service.exited).code, 1);
  assert.match(String(service.records[0]?.["reason"]), /YARD_COMMANDS\/agent-runner/);
  assert.match(String(service.records[0]?.["hint"]), /yard streams ensure/);
});

test("waits for streams that are made later, and reports that in its readiness", async () => {
  const emptyNats = await testNats();
  const port = await freePort();
  const own = { YARD_NATS_URL: emptyNats.url, YARD_HEALTH_PORT: String(port) };
  const service = startFixture({ ...env, ...own });
  const readyz = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    return (await answer?.text()) ?? "";
  };
  await until(async () => /"start":"waiting for the streams/.test(await readyz()));
  const admin = await connectBus({ servers: emptyNats.url, user: "caller" });
  await ensureStreams(admin);
  await admin.close();
  await service.logged("service ready");
  assert.doesNotMatch(await readyz(), /"start"/);
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 0, signal: null });
});

test("stops at once while it waits for NATS", async () => {
  const nowhere = `nats://127.0.0.1:${await freePort()}`;
  const port = await freePort();
  const own = { YARD_NATS_URL: nowhere, YARD_HEALTH_PORT: String(port) };
  const service = startFixture({ ...env, ...own });
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    return ((await answer?.text()) ?? "").includes("waiting for NATS (YARD_NATS_URL)");
  });
  service.child.kill("SIGTERM");
  await service.exited;
  assert.ok(messages(service).includes("service stopping"));
});

test("names the file of a key that it cannot read", async () => {
  const service = startFixture({ ...env, YARD_NATS_NKEY_FILE: "/nowhere/seed.nk" });
  assert.equal((await service.exited).code, 1);
  assert.match(
    String(service.records[0]?.["reason"]),
    /YARD_NATS_NKEY_FILE: cannot read \/nowhere\/seed\.nk/,
  );
});

test("names the file of a key that is none, at once and without what it holds", async () => {
  const file = join(await testDirectory(), "seed.nk");
  await writeFile(file, "canary-4711");
  const service = startFixture({ ...env, YARD_NATS_NKEY_FILE: file });
  assert.equal((await service.exited).code, 1);
  assert.match(String(service.records[0]?.["reason"]), /seed\.nk holds no NKey seed/);
  assert.ok(!JSON.stringify(service.records).includes("canary-4711"));
});

test("logs in with the key of its file, and exits 1 when NATS refuses the key", async () => {
  const [adminKey, fixtureKey, otherKey] = [createUserKey(), createUserKey(), createUserKey()];
  const fixtureUser: BusUser = {
    ...client("fixture", "Fixture"),
    serves: [fixtureCall],
    consumes: [runCommands],
  };
  const guarded = await testNats({
    authorization: natsAuthorization({
      users: [
        { user: adminUser, nkey: adminKey.publicKey },
        { user: fixtureUser, nkey: fixtureKey.publicKey },
      ],
    }),
  });
  const admin = await connectBus({
    servers: guarded.url,
    user: adminUser.name,
    nkeySeed: () => adminKey.seed,
  });
  await ensureStreams(admin);
  await admin.close();

  const seedFile = join(await testDirectory(), "seed.nk");
  const guardedEnv = { ...env, YARD_NATS_URL: guarded.url, YARD_NATS_NKEY_FILE: seedFile };
  await writeFile(seedFile, `${fixtureKey.seed}\n`);
  const service = startFixture(guardedEnv);
  await service.logged("service ready");
  await stop(service);

  await writeFile(seedFile, otherKey.seed);
  const refused = startFixture(guardedEnv);
  assert.equal((await refused.exited).code, 1);
  assert.match(String(refused.records[0]?.["reason"]), /refused user fixture with its NKey/);
  assert.ok(!JSON.stringify(refused.records).includes(otherKey.seed));
});

test("logs a bug in the start with its stack, undoes what was started and exits 1", async () => {
  const service = startFixture({ ...env, FIXTURE_START: "fault" });
  assert.equal((await service.exited).code, 1);
  const failure = await service.logged("service could not start");
  assert.match((failure["err"] as { stack: string }).stack, /fixture-definition\.ts/);
  assert.ok(messages(service).includes("fixture undone"));
});

test("names the port that is in use when health cannot be served", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  await once(blocker, "listening");
  const { port } = blocker.address() as AddressInfo; // what a TCP listener has
  const service = startFixture({ ...env, YARD_HEALTH_PORT: String(port) });
  assert.equal((await service.exited).code, 1);
  blocker.close();
  assert.match(
    String(service.records[0]?.["reason"]),
    new RegExp(`cannot serve health at 127.0.0.1:${port}`),
  );
});

test("exits 0 on SIGTERM in the middle of the start", async () => {
  const service = startFixture({ ...env, FIXTURE_START: "hang" });
  await service.logged("fixture hangs");
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 0, signal: null });
  assert.ok(!messages(service).includes("service ready"));
});

test("logs an uncaught error, stops and exits 1", async () => {
  for (const does of ["throw-later", "reject-later"] as const) {
    const service = startFixture(env);
    await service.logged("service ready");
    call(bus, fixtureCall, { does }).catch(() => {}); // the answer may or may not make it
    assert.equal((await service.exited).code, 1);
    const fatal = await service.logged("uncaught error");
    assert.equal(fatal["level"], "fatal");
    assert.match(JSON.stringify(fatal["err"]), /a bug outside|an unhandled rejection/);
  }
});

test("continues when a promise that no code awaits fails with a lost connection, and logs it", async () => {
  const service = startFixture(env);
  await service.logged("service ready");
  await call(bus, fixtureCall, { does: "lose-later" });
  const logged = await service.logged("unhandled rejection of an outage");
  assert.equal(logged["level"], "error");
  assert.equal((await get(service, "/readyz")).status, 200);
  await stop(service);
});

test("is not ready while a check of the service fails", async () => {
  const service = startFixture(env);
  await service.logged("service ready");
  await call(bus, fixtureCall, { does: "fall-ill" });
  assert.deepEqual(await get(service, "/readyz"), {
    status: 503,
    body: {
      status: "not_ready",
      checks: { redis: "ok", bus: "ok", streams: "ok", fixture: "failing" },
    },
  });
  await stop(service);
});

test("stays alive without NATS and Redis, reports that, and still stops with exit 0", async () => {
  const ownNats = await testNats();
  const ownRedis = await testRedis();
  const admin = await connectBus({ servers: ownNats.url, user: "admin" });
  await ensureStreams(admin);
  await admin.close();
  const service = startFixture({ YARD_NATS_URL: ownNats.url, YARD_REDIS_URL: ownRedis.url });
  await service.logged("service ready");
  ownNats.kill("SIGKILL");
  ownRedis.kill("SIGKILL");
  await Promise.all([
    service.logged("bus connection lost"),
    service.logged("redis connection lost"),
  ]);
  const { status, body } = await get(service, "/readyz");
  const { reasons, ...report } = body;
  assert.equal(status, 503);
  assert.deepEqual(report, {
    status: "not_ready",
    checks: { redis: "failing", bus: "failing", streams: "ok", fixture: "ok" },
  });
  assert.match(JSON.stringify(reasons), /"redis":"Redis cannot be reached/);
  assert.equal((await get(service, "/livez")).status, 200);
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 0, signal: null });
});

test("stops when its parent is killed, so that no orphan stays", async () => {
  const script = fileURLToPath(new URL("../test/fixture-parent.ts", import.meta.url));
  const parent = observe(spawn(process.execPath, [script], { env, stdio: "pipe" }));
  await parent.logged("service ready");
  parent.child.kill("SIGKILL");
  await parent.exited; // stdout closes when the orphan, which inherited it, has ended too
  assert.equal((await parent.logged("service stopping"))["reason"], "parent gone");
  assert.ok(messages(parent).includes("service stopped"));
});

test("stops in order also when its log is no longer read", async () => {
  const service = startFixture(env, [EXIT_WITH_PARENT]);
  await service.logged("service ready");
  const reply = call(bus, fixtureCall, { does: "wait-for-stop" });
  await service.logged("handler entered");
  service.child.stdout.destroy();
  service.child.stdin.end();
  assert.deepEqual(await reply, { key: "OK" });
  assert.deepEqual(await service.exited, { code: 0, signal: null });
});

test("leaves Ctrl-C to the parent that holds its stdin", async () => {
  const service = startFixture(env, [EXIT_WITH_PARENT]);
  await service.logged("service ready");
  service.child.kill("SIGINT");
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 0, signal: null });
  assert.equal((await service.logged("service stopping"))["reason"], "SIGTERM");
});

test("takes its environment from stdin, which leaves no secret in the block of the kernel", async () => {
  const service = startFixture({}, [EXIT_WITH_PARENT, ENVIRONMENT_FROM_STDIN]);
  const secret = "sk-of-a-model";
  const cwd = await testDirectory();
  service.child.stdin.write(environmentLine({ cwd, env: { ...env, MODEL_KEY: secret } }));
  await service.logged("service ready");
  assert.equal(await readlink(`/proc/${service.child.pid}/cwd`), await realpath(cwd));
  const block = await readFile(`/proc/${service.child.pid}/environ`, "utf8");
  assert.doesNotMatch(block, new RegExp(`${secret}|YARD_`));
  service.child.stdin.end();
  assert.deepEqual(await service.exited, { code: 0, signal: null });
  assert.equal((await service.logged("service stopping"))["reason"], "parent gone");
});

test("ends silently when its parent ends before it gave the environment, and refuses a line that is none", async () => {
  const unneeded = startFixture({}, [EXIT_WITH_PARENT, ENVIRONMENT_FROM_STDIN]);
  unneeded.child.stdin.end();
  assert.deepEqual(await unneeded.exited, { code: 0, signal: null });
  assert.deepEqual(unneeded.records, []);
  const misled = startFixture({}, [EXIT_WITH_PARENT, ENVIRONMENT_FROM_STDIN]);
  misled.child.stdin.write("MODEL_KEY=sk-of-a-model\n");
  assert.deepEqual(await misled.exited, { code: 1, signal: null });
  assert.deepEqual(messages(misled), ["service could not start"]);
  assert.doesNotMatch(JSON.stringify(misled.records), /sk-of-a-model/);
});

async function startHanging(extra: Record<string, string>): Promise<ServiceProcess> {
  const service = startFixture({ ...env, ...extra });
  await service.logged("service ready");
  call(bus, fixtureCall, { does: "hang" }).catch(() => {}); // it is never answered
  await service.logged("handler entered");
  return service;
}

async function stop(service: ServiceProcess): Promise<void> {
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, { code: 0, signal: null });
}

async function get(
  service: ServiceProcess,
  path: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { healthUrl } = await service.logged("service ready");
  const response = await fetch(`${String(healthUrl)}${path}`);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }; // our own JSON
}

function messages(service: ServiceProcess): unknown[] {
  return service.records.map((record) => record["msg"]);
}
