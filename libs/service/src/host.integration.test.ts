import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { rpc } from "@switchyard/contracts/define";
import { replaceConstants } from "@switchyard/testing/test-constants";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { Counter } from "prom-client";
import { z } from "zod";
import { defineService } from "./define-service.ts";
import { envInteger, natsEnv, processEnv, redisEnv } from "./env.ts";
import { Host, ServiceStartError, type HostOptions } from "./host.ts";
import { StartError } from "./start-error.ts";

const nats = await testNats();
const redis = await testRedis();
const env = { YARD_NATS_URL: nats.url, YARD_REDIS_URL: redis.url };
const caller = await connectBus({ servers: nats.url, user: "caller" });
await ensureStreams(caller);
after(() => caller.close());

const reply = z.object({ by: z.string(), starts: z.number() });
const echoed = (user: string) =>
  rpc({
    subject: `yard.rpc.{caller}.${user}.echo`,
    summary: "Echoes.",
    request: z.object({}),
    reply,
  });

/** The steps of the fixtures, in order. */
const events: string[] = [];

/** A service that answers, counts its starts, and notes its start and stop. */
function service(user: string, startsAfter: readonly string[] = []) {
  let starts = 0;
  return defineService({
    name: `the-${user}`,
    user,
    version: "1.2.3",
    env: z.object({
      ...processEnv,
      ...natsEnv,
      ...redisEnv,
      START_MS: envInteger(0, 1_000).default(0),
      FAILS: z.string().optional(),
      HANGS: z.string().optional(),
      NEEDED: z.string().optional(),
    }),
    startsAfter,
    async start(kit) {
      const { bus, config, log, metrics, restart } = kit;
      starts += 1;
      kit.onStop("own", async () => void events.push(`${user} stopped`));
      await new Promise((resolve) => setTimeout(resolve, config.START_MS));
      if (config.FAILS === `${user} ${starts}`)
        throw new StartError(`${user} has no rules`, { hint: "write some" });
      let isWell = true;
      kit.ready("well", () => isWell);
      new Counter({ name: "yard_test_total", help: `Of ${user}.`, registers: [metrics] }).inc(
        starts,
      );
      const served = serve(bus, {
        name: user,
        version: "1.2.3",
        description: "",
        onFault: ({ error }) => assert.fail(String(error)),
      });
      served.handle(echoed(user), () => {
        if (config.HANGS === user) isWell = false;
        setImmediate(() => restart?.());
        return { by: user, starts };
      });
      log.info({}, "own line");
      events.push(`${user} started`);
    },
  });
}

/** A host of these services, whose log is read and which ends with the test. */
function host(
  services: readonly ReturnType<typeof service>[],
  more: Record<string, string> = {},
  { faults = [], instance = "one" }: { faults?: ServiceStartError[]; instance?: string } = {},
) {
  const lines: Record<string, unknown>[] = [];
  const options: HostOptions = {
    name: "together",
    version: "2.0.0",
    env: { ...env, ...more },
    begunAtMs: performance.now(),
    logTo: { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    onFault: (fault) => void faults.push(fault),
  };
  const restore = replaceConstants({ instance });
  const made = new Host(services, options);
  restore();
  after(() => made.stop());
  return { made, lines };
}

async function json(url: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
}

test("several services start after those that they need, answer, and stop in reverse order", async () => {
  events.length = 0;
  const { made, lines } = host([service("a"), service("b", ["a"]), service("c", ["a", "b"])], {
    START_MS: "20",
  });
  const url = await made.start();
  assert.deepEqual(await call(caller, echoed("b"), {}), { by: "b", starts: 1 });
  const one = { status: "ready", checks: { redis: "ok", bus: "ok", streams: "ok", well: "ok" } };
  assert.deepEqual(await json(`${url}/readyz`), {
    status: 200,
    body: { status: "ready", services: { "the-a": one, "the-b": one, "the-c": one } },
  });
  assert.deepEqual(await json(`${url}/readyz/the-c`), { status: 200, body: one });
  assert.equal(await made.stop(), true);
  const order = ["a started", "b started", "c started", "c stopped", "b stopped", "a stopped"];
  assert.deepEqual(events, order);
  const own = lines.filter(({ msg }) => msg === "own line");
  assert.deepEqual(
    own.map(({ service: name, instance }) => [name, instance]),
    ["the-a", "the-b", "the-c"].map((name) => [name, "one"]),
  );
  const ready = lines.findLast(({ msg }) => msg === "service ready");
  assert.deepEqual([ready?.["service"], ready?.["healthUrl"]], ["together", url]);
});

test("one that is not ready is named, and the whole is not ready", async () => {
  const { made } = host([service("a"), service("b")], { HANGS: "b" });
  const url = await made.start();
  await call(caller, echoed("b"), {});
  const { status, body } = await json(`${url}/readyz`);
  assert.equal(status, 503);
  const ill = {
    status: "not_ready",
    checks: { redis: "ok", bus: "ok", streams: "ok", well: "failing" },
  };
  assert.deepEqual((body as { services: object }).services, {
    "the-a": { ...ill, status: "ready", checks: { ...ill.checks, well: "ok" } },
    "the-b": ill,
  });
  assert.equal((await json(`${url}/readyz/the-a`)).status, 200);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  assert.match(metrics, /^yard_ready\{service="the-a"\} 1$/m);
  assert.match(metrics, /^yard_ready\{service="the-b"\} 0$/m);
  assert.match(metrics, /^yard_ready\{service="together"\} 0$/m);
  await made.stop();
});

test("metrics of all services are one text, with those of the process once", async () => {
  const { made } = host([service("a"), service("b")]);
  const url = await made.start();
  const text = await (await fetch(`${url}/metrics`)).text();
  assert.match(
    text,
    /^# HELP yard_test_total Of a\.\n# TYPE yard_test_total counter\nyard_test_total\{service="the-a"\} 1\nyard_test_total\{service="the-b"\} 1$/m,
  );
  assert.equal(text.match(/^process_cpu_seconds_total\{/gm)?.length, 1);
  const names = Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name);
  assert.deepEqual(names, [...new Set(names)]);
  const accept = { headers: { accept: "application/openmetrics-text" } };
  const open = await (await fetch(`${url}/metrics`, accept)).text();
  assert.equal(open.match(/^# EOF$/gm)?.length, 1);
  assert.ok(open.endsWith("# EOF\n"));
  await made.stop();
});

test("a service that cannot start stops the others, with its own message", async () => {
  events.length = 0;
  const { made } = host([service("a"), service("b", ["a"]), service("c", ["b"])], { FAILS: "b 1" });
  const failure = await made.start().then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof ServiceStartError);
  const [first] = failure.failures;
  assert.ok(first?.cause instanceof StartError);
  assert.equal(first.cause.message, "b has no rules");
  assert.equal(first.log.bindings()["service"], "the-b");
  await made.stop();
  assert.deepEqual(events, ["a started", "b stopped", "a stopped"]);
});

test("every setting that is wrong is named for each service", () => {
  const bad = { YARD_NATS_URL: "nowhere", START_MS: "soon" };
  assert.throws(
    () => host([service("a"), service("b")], bad),
    (error) =>
      error instanceof ServiceStartError &&
      error.failures.length === 2 &&
      error.failures.every(({ cause }) => /YARD_NATS_URL.*START_MS/.test(String(cause))),
  );
});

test("a service is started again within its process, while the others keep running", async () => {
  events.length = 0;
  const { made } = host([service("a"), service("b")], { YARD_RESTARTS: "1" });
  const url = await made.start();
  assert.equal((await call(caller, echoed("b"), {})).starts, 1);
  await until(() => events.at(-1) === "b started" && events.length === 4);
  await until(async () => (await json(`${url}/readyz`)).status === 200);
  assert.deepEqual(events.slice(2), ["b stopped", "b started"]);
  const text = await (await fetch(`${url}/metrics`)).text();
  assert.match(text, /^yard_test_total\{service="the-b"\} 2$/m);
  assert.equal((await call(caller, echoed("b"), {})).starts, 2);
  await made.stop();
});

test("a service that cannot start again is reported", async () => {
  const faults: ServiceStartError[] = [];
  const { made } = host(
    [service("a"), service("b")],
    { YARD_RESTARTS: "1", FAILS: "a 2" },
    { faults },
  );
  await made.start();
  await call(caller, echoed("a"), {});
  await until(() => faults.length === 1);
  assert.match(String(faults[0]?.cause), /a has no rules/);
  await made.stop();
});

test("two instances of one service share the work from one process, each with its own environment", async () => {
  const [one, two] = [host([service("a")]), host([service("a")], {}, { instance: "two" })];
  const urls = await Promise.all([one.made.start(), two.made.start()]);
  assert.notEqual(urls[0], urls[1]);
  await one.made.stop();
  assert.equal((await call(caller, echoed("a"), {})).by, "a");
  const own = two.lines.find(({ msg }) => msg === "own line");
  assert.equal(own?.["instance"], "two");
  await two.made.stop();
});
