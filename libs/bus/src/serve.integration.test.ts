import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { rpc } from "@switchyard/contracts/define";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { z } from "zod";
import { call, client } from "./call.ts";
import { connectionOf } from "./connection.ts";
import type { Bus } from "./bus.ts";
import { discoverServices } from "./discovery.ts";
import { headersOf } from "./message-headers.ts";
import { serve, type ServeOptions } from "./serve.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const ask = rpc({
  subject: "yard.rpc.{caller}.oracle.ask.{topic}",
  summary: "Answers a question.",
  request: z.strictObject({ question: z.string(), loud: z.boolean().default(false) }),
  reply: z.object({ answer: z.string() }),
  errors: {
    unknown_topic: { data: z.object({ topic: z.string() }) },
    busy: { data: z.object({ queued: z.int() }), retryable: true },
  },
  timeoutMs: 60_000,
});
const tokens = { topic: "weather" };

const nats = await testNats();
const caller = await testBus(nats, "cli");

/** A service on a connection of its own, so that draining it leaves the others alone. */
async function oracle(
  options: Partial<ServeOptions> = {},
): Promise<{ bus: Bus; service: ReturnType<typeof serve>; faults: unknown[] }> {
  const bus = await testBus(nats, "oracle");
  const faults: unknown[] = [];
  const service = serve(bus, {
    name: "oracle",
    version: "1.2.3",
    description: "Answers questions",
    onFault: ({ error }) => faults.push(error),
    ...options,
  });
  return { bus, service, faults };
}

test("a call reaches its handler with defaults filled in and the caller's name, and brings the reply", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, (request, context) => {
    assert.deepEqual(request, { question: "rain?", loud: false });
    assert.deepEqual(context.tokens, { caller: "cli", topic: "weather" });
    return { answer: `no, ${context.caller}` };
  });
  await bus.flush();
  assert.deepEqual(await call(caller, ask, { question: "rain?" }, { tokens }), {
    answer: "no, cli",
  });
  await bus.drain();
});

test("a client is one function per contract", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, async () => ({ answer: "yes" }));
  await bus.flush();
  const { ask: question } = client(caller, { ask });
  assert.deepEqual(await question({ question: "?" }, { tokens }), { answer: "yes" });
  await bus.drain();
});

test("a declared error arrives with its code, its data and whether to try again", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, async (_request, { fail }) => {
    throw fail.busy("three are waiting", { queued: 3 });
  });
  await bus.flush();
  await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), (error) => {
    assert.ok(isError(error, ask, "busy"));
    assert.deepEqual(
      [error.message, error.data.queued, error.retryable],
      ["three are waiting", 3, true],
    );
    return true;
  });
  await bus.drain();
});

test("an async handler that throws is answered internal, reported as a fault, and kills nothing", async () => {
  const { bus, service, faults } = await oracle();
  let calls = 0;
  service.handle(ask, async () => {
    await nextTurn();
    calls += 1;
    if (calls === 1) throw new Error("secret of the handler");
    return { answer: "alive" };
  });
  await bus.flush();
  await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "internal");
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
  assert.equal(String(faults[0]), "Error: secret of the handler");
  assert.deepEqual(await call(caller, ask, { question: "?" }, { tokens }), { answer: "alive" });
  await bus.drain();
});

test("an error that the contract does not declare is a fault, also under a name of Object.prototype", async () => {
  const { bus, service, faults } = await oracle();
  const codes = ["timeout", "constructor"];
  service.handle(ask, () => {
    throw new ServiceError(codes[faults.length] ?? "", "from further down");
  });
  await bus.flush();
  for (const _ of codes)
    await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), { code: "internal" });
  assert.equal(faults.length, 2);
  await bus.drain();
});

test("a reply and error data outside their schemas are faults", async () => {
  const { bus, service, faults } = await oracle();
  const wrongReply: unknown = { answer: 42 };
  const answers = [
    () => wrongReply as { answer: string }, // the schema has to notice what the type cannot
    () => {
      throw new ServiceError("busy", "wrong data", { data: { queued: "many" } });
    },
  ];
  service.handle(ask, () => (answers[faults.length] ?? assert.fail)());
  await bus.flush();
  for (const _ of answers)
    await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), { code: "internal" });
  assert.match(String(faults[0]), /answer/);
  assert.match(String(faults[1]), /queued/);
  await bus.drain();
});

test("keys that the reply's schema does not name never leave the service", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, () => ({ answer: "yes", password: "hunter2" }));
  await bus.flush();
  assert.deepEqual(await call(caller, ask, { question: "?" }, { tokens }), { answer: "yes" });
  await bus.drain();
});

test("a request outside its schema is refused with a line for each problem, unknown keys by name", async () => {
  const { bus, service, faults } = await oracle();
  service.handle(ask, () => assert.fail("ran"));
  await bus.flush();
  const wrong: unknown = { question: 1, surprise: true };
  await assert.rejects(call(caller, ask, wrong as { question: string }, { tokens }), (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /question: .*surprise/s);
    return true;
  });
  assert.deepEqual(faults, []);
  await bus.drain();
});

test("a body that is not JSON is refused, and NATS tools see the error in the headers", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, () => assert.fail("ran"));
  await bus.flush();
  const { nc } = connectionOf(caller);
  const reply = await nc.request("yard.rpc.cli.oracle.ask.weather", "{oops", { timeout: 30_000 });
  assert.equal(reply.headers?.get(HEADERS.serviceErrorCode), "400");
  assert.match(reply.headers?.get(HEADERS.serviceError) ?? "", /not JSON/);
  assert.equal(reply.json<{ code: string }>().code, "invalid_request");
  await bus.drain();
});

test("a message without a reply subject runs nothing and is counted", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, ({ question }) => ({ answer: question }));
  await bus.flush();
  connectionOf(caller).nc.publish("yard.rpc.cli.oracle.ask.weather", '{"question":"anyone?"}');
  assert.deepEqual(await call(caller, ask, { question: "second" }, { tokens }), {
    answer: "second",
  });
  const stats = await connectionOf(caller).nc.request("$SRV.STATS.oracle", "", { timeout: 30_000 });
  const [endpoint] = stats.json<{
    endpoints: { num_requests: number; data: { ignored: number } }[];
  }>().endpoints;
  assert.deepEqual([endpoint?.num_requests, endpoint?.data.ignored], [1, 1]);
  await bus.drain();
});

test("a call whose deadline is over is refused without running", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, () => assert.fail("ran"));
  await bus.flush();
  const { nc } = connectionOf(caller);
  const headers = headersOf({ [HEADERS.deadline]: String(Date.now() - 1) });
  const reply = await nc.request("yard.rpc.cli.oracle.ask.weather", '{"question":"?"}', {
    timeout: 30_000,
    headers,
  });
  assert.equal(reply.json<{ code: string }>().code, "deadline_exceeded");
  await assert.rejects(call(caller, ask, { question: "?" }, { tokens, deadline: Date.now() - 1 }), {
    code: "deadline_exceeded",
  });
  await bus.drain();
});

test("a deadline that is further away than any call lasts becomes an hour from now", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, (_request, { deadline }) => ({ answer: String(deadline - Date.now()) }));
  await bus.flush();
  const options = { tokens, deadline: Date.now() * 1_000 }; // in microseconds
  const { answer } = await call(caller, ask, { question: "?" }, options);
  assert.ok(Number(answer) > 3_500_000 && Number(answer) <= 3_600_000, `${answer} ms from now`);
  await bus.drain();
});

test("the signal of a call aborts at its deadline, and the caller learns it", async () => {
  const { bus, service, faults } = await oracle();
  const { promise: aborted, resolve: isAborted } = signalled();
  service.handle(ask, async (_request, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => {
      isAborted();
      reject(new Error("gave up", { cause: signal.reason }));
    });
    return promise;
  });
  await bus.flush();
  await assert.rejects(
    call(caller, ask, { question: "?" }, { tokens, timeoutMs: 1_000 }),
    (error) => {
      assert.ok(error instanceof ServiceError);
      assert.ok(["timeout", "deadline_exceeded"].includes(error.code), error.code); // which side notices first is open
      return true;
    },
  );
  await aborted;
  await bus.drain();
  assert.deepEqual(faults, []);
});

test("the deadline, the correlation id and the trace travel with a call", async () => {
  const { bus, service } = await oracle();
  const { promise: seen, resolve: see } = signalled<{
    deadline: number;
    correlationId: string;
    traceparent: string;
  }>();
  service.handle(ask, (_request, { deadline, correlationId, traceparent }) => {
    see({ deadline, correlationId, traceparent });
    return { answer: "" };
  });
  await bus.flush();
  const deadline = Date.now() + 30_000;
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await call(
    caller,
    ask,
    { question: "?" },
    { tokens, deadline, correlationId: "run-7", traceparent },
  );
  const found = await seen;
  assert.deepEqual([found.deadline, found.correlationId], [deadline, "run-7"]);
  assert.match(
    found.traceparent,
    /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
  );
  await bus.drain();
});

test("an endpoint may be pinned to one value of a token, and stopped by itself", async () => {
  const { bus, service } = await oracle();
  const weather = service.handle(ask, () => ({ answer: "weather" }), { topic: "weather" });
  service.handle(ask, () => ({ answer: "sports" }), { topic: "sports" });
  await bus.flush();
  assert.deepEqual(await call(caller, ask, { question: "?" }, { tokens: { topic: "sports" } }), {
    answer: "sports",
  });
  assert.deepEqual(await call(caller, ask, { question: "?" }, { tokens }), { answer: "weather" });
  await weather.stop();
  await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), { code: "no_responders" });
  assert.deepEqual(await call(caller, ask, { question: "?" }, { tokens: { topic: "sports" } }), {
    answer: "sports",
  });
  await bus.drain();
});

test("replicas share the calls", async () => {
  const replicas = await Promise.all([oracle(), oracle()]);
  for (const [index, { bus, service }] of replicas.entries()) {
    service.handle(ask, () => ({ answer: String(index) }));
    await bus.flush();
  }
  const replies = await Promise.all(
    Array.from({ length: 200 }, () => call(caller, ask, { question: "?" }, { tokens })),
  );
  assert.deepEqual(new Set(replies.map((reply) => reply.answer)), new Set(["0", "1"]));
  for (const { bus } of replicas) await bus.drain();
});

test("the reply of a slow call still arrives when the service began to drain", async () => {
  const { bus, service } = await oracle();
  const { promise: begun, resolve: begin } = signalled();
  const { promise: released, resolve: release } = signalled();
  service.handle(ask, async () => {
    begin();
    await released;
    return { answer: "late" };
  });
  await bus.flush();
  const slow = call(caller, ask, { question: "?" }, { tokens });
  await begun;
  const drained = bus.drain();
  await until(async () => {
    const failure: unknown = await call(
      caller,
      ask,
      { question: "?" },
      { tokens, timeoutMs: 50 },
    ).catch((error: unknown) => error);
    return failure instanceof ServiceError && failure.code === "no_responders"; // so nothing is taken any more
  });
  release();
  assert.deepEqual(await slow, { answer: "late" });
  await drained;
  assert.equal(bus.status, "closed");
});

test("a drain aborts what does not end by its deadline", async () => {
  const { bus, service, faults } = await oracle();
  const { promise: begun, resolve: begin } = signalled();
  service.handle(ask, async (_request, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(new Error("stopped", { cause: signal.reason })));
    begin();
    return promise;
  });
  await bus.flush();
  const slow = call(caller, ask, { question: "?" }, { tokens });
  const refused = assert.rejects(slow, { code: "deadline_exceeded" });
  await begun;
  await bus.drain(10);
  await refused;
  assert.deepEqual(faults, []);
});

test("calls that a handler makes while its service drains still work", async () => {
  const { bus, service } = await oracle();
  const helper = await oracle();
  helper.service.handle(ask, () => ({ answer: "from the helper" }), { topic: "help" });
  const { promise: begun, resolve: begin } = signalled();
  const { promise: released, resolve: release } = signalled();
  service.handle(
    ask,
    async () => {
      begin();
      await released;
      return call(bus, ask, { question: "?" }, { tokens: { topic: "help" } });
    },
    { topic: "weather" },
  );
  await Promise.all([bus.flush(), helper.bus.flush()]);
  const slow = call(caller, ask, { question: "?" }, { tokens });
  await begun;
  const drained = bus.drain();
  release();
  assert.deepEqual(await slow, { answer: "from the helper" });
  await drained;
  await helper.bus.drain();
});

test("discovery is answered to all, by name and by id, in the shape that NATS tools expect", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, () => ({ answer: "yes" }), { topic: "weather" });
  await bus.flush();
  const { nc } = connectionOf(caller);
  const answerTo = async (subject: string): Promise<Record<string, unknown>> =>
    (await nc.request(subject, "", { timeout: 30_000 })).json();
  const ping = await answerTo("$SRV.PING");
  assert.deepEqual(
    { ...ping, id: "" },
    {
      name: "oracle",
      id: "",
      version: "1.2.3",
      metadata: {},
      type: "io.nats.micro.v1.ping_response",
    },
  );
  for (const place of ["", ".oracle", `.oracle.${String(ping["id"])}`]) {
    const info = await answerTo(`$SRV.INFO${place}`);
    assert.deepEqual(
      [info["id"], info["type"], info["description"]],
      [ping["id"], "io.nats.micro.v1.info_response", "Answers questions"],
    );
    assert.deepEqual(info["endpoints"], [
      {
        name: "oracle-ask",
        subject: "yard.rpc.*.oracle.ask.weather",
        queue_group: "oracle",
        metadata: { description: ask.summary },
      },
    ]);
    const stats = await answerTo(`$SRV.STATS${place}`);
    assert.deepEqual([stats["id"], stats["type"]], [ping["id"], "io.nats.micro.v1.stats_response"]);
    assert.ok(!Number.isNaN(Date.parse(String(stats["started"]))));
  }
  await bus.drain();
});

test("a service whose answer is not that of a service is left out, and hides no other", async () => {
  const { bus, service } = await oracle();
  service.handle(ask, () => ({ answer: "yes" }), { topic: "weather" });
  await bus.flush();
  const identity = { name: "stranger", id: "S", version: "1.0.0" };
  const strange = ["null", "[]", JSON.stringify({ ...identity, endpoints: [null] })];
  const { nc } = connectionOf(caller);
  const subscriptions = strange.map((answer) =>
    nc.subscribe("$SRV.INFO", { callback: (_error, message) => void message.respond(answer) }),
  );
  subscriptions.push(
    nc.subscribe("$SRV.*", {
      callback: (_error, message) =>
        void message.respond(JSON.stringify({ ...identity, name: "plain", endpoints: null })),
    }),
  );
  // Answers of a busy machine may come after the request's deadline.
  await until(async () => {
    const found = await discoverServices(caller);
    const counts = found.map(({ name, endpoints }) => `${name} ${endpoints.length}`);
    return counts.join() === "oracle 1,plain 0";
  });
  for (const subscription of subscriptions) subscription.unsubscribe();
  await bus.drain();
});

test("a service that is expected is waited for, and the question ends soon after all of them", async () => {
  const { nc } = connectionOf(caller);
  let delayMs = 0;
  const answerAs = (name: string, id: string, after: () => number) =>
    ["$SRV.INFO", "$SRV.STATS"].map((subject) =>
      nc.subscribe(subject, {
        callback: (_error, message) => {
          const answer = JSON.stringify({ name, id, version: "1.0.0", endpoints: null });
          setTimeout(() => message.respond(answer), after());
        },
      }),
    );
  const subscriptions = [
    ...answerAs("prompt", "P1", () => 0),
    ...answerAs("prompt", "P2", () => 5),
    ...answerAs("late", "L", () => delayMs),
  ];
  await caller.flush();
  const found = async (expected: readonly string[]): Promise<string> => {
    const services = await discoverServices(caller, { expected });
    return services.map(({ id }) => id).join();
  };
  delayMs = 150;
  // A busy machine may make one answer later than the wait for further ones lasts.
  await until(
    () => found(["prompt", "late"]),
    (ids) => ids === "L,P1,P2",
  );
  delayMs = 0;
  // A busy machine may make one request slow, and not all of them.
  await until(
    async () => {
      const startedAt = performance.now();
      const all = await found(["prompt", "late"]);
      return { all, tookMs: performance.now() - startedAt };
    },
    ({ all, tookMs }) => all === "L,P1,P2" && tookMs < 250,
  );
  // A service that never answers does not make the request endless.
  await until(
    () => found(["prompt", "nobody"]),
    (ids) => ids === "L,P1,P2",
  );
  for (const subscription of subscriptions) subscription.unsubscribe();
});

test("a bus that connectBus did not make is refused", () => {
  const impostor: unknown = { user: "cli" };
  assert.throws(
    () =>
      serve(impostor as Bus, { name: "x", version: "1.0.0", description: "", onFault: () => {} }),
    TypeError,
  );
});
