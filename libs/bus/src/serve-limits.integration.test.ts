import assert from "node:assert/strict";
import { test } from "node:test";
import { rpc } from "@switchyard/contracts/define";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { z } from "zod";
import { call } from "./call.ts";
import type { Bus } from "./bus.ts";
import { serve, type Service, type ServeOptions } from "./serve.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const ask = rpc({
  subject: "yard.rpc.{caller}.oracle.ask.{topic}",
  summary: "Answers a question.",
  request: z.strictObject({ question: z.string() }),
  reply: z.object({ answer: z.string() }),
  timeoutMs: 60_000,
});
const tokens = { topic: "weather" };
const list = rpc({
  subject: "yard.rpc.{caller}.oracle.list",
  summary: "Lists what is known.",
  request: z.strictObject({}),
  reply: z.object({ topics: z.array(z.string()) }),
  timeoutMs: 60_000,
});

const nats = await testNats();
const caller = await testBus(nats, "cli");

async function oracle(options: Partial<ServeOptions>): Promise<{ bus: Bus; service: Service }> {
  const bus = await testBus(nats, "oracle");
  const about = { name: "oracle", version: "1.2.3", description: "Answers questions" };
  const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
  return { bus, service: serve(bus, { ...about, onFault, ...options }) };
}

test("calls above the limit are answered overloaded at once, and those below it are not disturbed", async () => {
  const { bus, service } = await oracle({ concurrency: 4 });
  const { promise: released, resolve: release } = signalled();
  const { promise: full, resolve: isFull } = signalled();
  let begun = 0;
  service.handle(ask, async () => {
    begun += 1;
    if (begun === 2) isFull();
    await released;
    return { answer: "done" };
  });
  await bus.flush();
  const accepted = [1, 2].map(() => call(caller, ask, { question: "?" }, { tokens }));
  await full;
  await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), {
    code: "overloaded",
    retryable: true,
    message: /has 2 calls of cli in work, its share of 4 at a time; try again shortly/,
  });
  // The next caller is not to notice, and a service that acts for many gets any free slot.
  const [team, runner] = await Promise.all([testBus(nats, "team-b"), testBus(nats, "runner")]);
  accepted.push(call(team, ask, { question: "?" }, { tokens }));
  const last = call(runner, ask, { question: "?" }, { tokens });
  accepted.push(last);
  await until(() => Promise.resolve(begun === 4));
  await assert.rejects(call(runner, ask, { question: "?" }, { tokens }), {
    code: "overloaded",
    message: /is at its limit of 4 calls/,
  });
  release();
  const done = Array.from({ length: 4 }, () => ({ answer: "done" }));
  assert.deepEqual(await Promise.all(accepted), done);
  assert.deepEqual(await call(caller, ask, { question: "?" }, { tokens }), { answer: "done" });
  await bus.drain();
});

test("a contract with a limit of its own leaves room for the others", async () => {
  const { bus, service } = await oracle({ limits: { [ask.name]: 1 } });
  const { promise: released, resolve: release } = signalled();
  const { promise: full, resolve: isFull } = signalled();
  service.handle(ask, async () => {
    isFull();
    await released;
    return { answer: "done" };
  });
  service.handle(list, () => ({ topics: ["weather"] }));
  await bus.flush();
  const accepted = call(caller, ask, { question: "?" }, { tokens });
  await full;
  await assert.rejects(call(caller, ask, { question: "?" }, { tokens }), {
    code: "overloaded",
    message: /limit of 1 calls/,
  });
  assert.deepEqual(await call(caller, list, {}), { topics: ["weather"] });
  release();
  assert.deepEqual(await accepted, { answer: "done" });
  await bus.drain();
});
