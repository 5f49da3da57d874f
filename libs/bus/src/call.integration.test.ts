import assert from "node:assert/strict";
import { test } from "node:test";
import type { Msg } from "@nats-io/transport-node";
import { rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { testNats } from "@switchyard/testing/test-servers";
import { z } from "zod";
import { call } from "./call.ts";
import { connectionOf } from "./connection.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const ping = rpc({
  subject: "yard.rpc.{caller}.target.ping",
  summary: "Answers.",
  request: z.strictObject({}),
  reply: z.object({ pong: z.literal(true) }),
  errors: { late: { data: z.object({ byMs: z.number() }) } },
  timeoutMs: 600_000,
});

const nats = await testNats();
const bus = await testBus(nats, "cli");
const target = connectionOf(await testBus(nats, "target")).nc;

/** Answers with bytes of the test's choice: what a foreign or broken service might send. */
async function answering(body: string | null, run: () => Promise<void>): Promise<void> {
  const subscription = target.subscribe("yard.rpc.*.target.ping", {
    callback: (_error, message) => {
      if (body !== null) message.respond(body);
    },
  });
  await target.flush();
  try {
    await run();
  } finally {
    subscription.unsubscribe();
    await target.flush();
  }
}

test("a subject without a service fails at once, not after the timeout of ten minutes", async () => {
  await assert.rejects(call(bus, ping, {}), {
    code: "no_responders",
    retryable: true,
    message: /yard\.rpc\.cli\.target\.ping/,
  });
});

test("a service that does not answer is a timeout, which is not retryable because the work may be done", async () => {
  await answering(null, () =>
    assert.rejects(call(bus, ping, {}, { timeoutMs: 30 }), { code: "timeout", retryable: false }),
  );
});

test("a service that takes a call and falls silent ends it after seconds, not after the timeout of ten minutes", async () => {
  await answering(null, async () => {
    const startedAt = performance.now();
    await assert.rejects(call(bus, ping, {}), {
      code: "timeout",
      retryable: false,
      message: /lost contact with the service handling yard\.rpc\.cli\.target\.ping/,
    });
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs > 5_000 && tookMs < 60_000, `${Math.round(tookMs)} ms`);
  });
});

test("of a timeout and a deadline the earlier one counts", async () => {
  await answering(null, async () => {
    await assert.rejects(call(bus, ping, {}, { timeoutMs: 30, deadline: Date.now() + 600_000 }), {
      code: "timeout",
    });
    await assert.rejects(call(bus, ping, {}, { timeoutMs: 600_000, deadline: Date.now() + 30 }), {
      code: "timeout",
    });
  });
});

test("an abort ends the wait with the signal's reason", async () => {
  await answering(null, async () => {
    const reason = new Error("the user pressed Ctrl-C");
    const controller = new AbortController();
    const waiting = assert.rejects(call(bus, ping, {}, { signal: controller.signal }), reason);
    controller.abort(reason);
    await waiting;
    await assert.rejects(call(bus, ping, {}, { signal: AbortSignal.abort(reason) }), reason);
  });
});

test("an answer that is not a reply, or does not fit the contract, is invalid_reply", async () => {
  const answers = [
    "",
    "hello",
    "{}",
    '{"ok":true,"value":{"pong":1}}',
    '{"ok":false,"code":"nobody_declared_this","message":"m","data":null}',
    '{"ok":false,"code":"late","message":"m","data":{"byMs":"much"}}',
    '{"ok":false,"code":"constructor","message":"m","data":null}',
  ];
  for (const body of answers) {
    await answering(body, () =>
      assert.rejects(call(bus, ping, {}), { code: "invalid_reply" }, body),
    );
  }
});

test("a standard code of the other side arrives as it is", async () => {
  const body = '{"ok":false,"code":"overloaded","message":"full","data":null}';
  await answering(body, () =>
    assert.rejects(call(bus, ping, {}), { code: "overloaded", message: "full", retryable: true }),
  );
});

test("a second answer to the same request is ignored", async () => {
  const subscription = target.subscribe("yard.rpc.*.target.ping", {
    callback: (_error, message) => {
      message.respond('{"ok":true,"value":{"pong":true}}');
      message.respond('{"ok":false,"code":"late","message":"m","data":{"byMs":1}}');
    },
  });
  await target.flush();
  assert.deepEqual(await call(bus, ping, {}), { pong: true });
  assert.deepEqual(await call(bus, ping, {}), { pong: true });
  subscription.unsubscribe();
});

test("an answer to a request that was given up is not taken for the answer to the next one", async () => {
  const messages: Msg[] = [];
  const subscription = target.subscribe("yard.rpc.*.target.ping", {
    callback: (_error, message) => {
      messages.push(message);
      const [first] = messages;
      if (first === undefined || first === message) return;
      first.respond('{"ok":false,"code":"late","message":"m","data":{"byMs":1}}');
      message.respond('{"ok":true,"value":{"pong":true}}');
    },
  });
  await target.flush();
  try {
    await assert.rejects(call(bus, ping, {}, { timeoutMs: 30 }), { code: "timeout" });
    assert.deepEqual(await call(bus, ping, {}), { pong: true });
  } finally {
    subscription.unsubscribe();
    await target.flush();
  }
});

test("a token that would change the subject is refused before anything is sent", async () => {
  const pinned = rpc({
    subject: "yard.rpc.{caller}.target.ping.{server}",
    summary: "Answers.",
    request: z.strictObject({}),
    reply: z.object({}),
  });
  for (const server of ["a.b", "*", ">", "a b", ""]) {
    await assert.rejects(call(bus, pinned, {}, { tokens: { server } }), TypeError);
  }
});

test("closing the bus ends every wait", async () => {
  const own = await testBus(nats, "cli");
  const { promise: received, resolve: receive } = signalled();
  const subscription = target.subscribe("yard.rpc.*.target.ping", { callback: () => receive() });
  await target.flush();
  const waiting = assert.rejects(
    call(own, ping, {}),
    (error) => error instanceof ServiceError && error.code === "disconnected" && !error.retryable,
  );
  await received;
  await own.close();
  await waiting;
  await assert.rejects(call(own, ping, {}), { code: "disconnected" });
  subscription.unsubscribe();
});
