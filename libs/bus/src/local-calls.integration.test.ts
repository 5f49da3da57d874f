import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { after, test } from "node:test";
import { rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { z } from "zod";
import { call, client } from "./call.ts";
import type { Bus } from "./bus.ts";
import { connectBus } from "./connect.ts";
import { connectionOf } from "./connection.ts";
import { discoverServices } from "./discovery.ts";
import { LocalServices } from "./local-services.ts";
import { prepareReply } from "./prepared-reply.ts";
import { serve, type Service } from "./serve.ts";
import { ensureStreams } from "./streams.ts";

// One process with a caller and a service, and a caller elsewhere that reaches the same service over NATS.
const nats = await testNats();
const refused = new Set<string>();
const local = new LocalServices({
  mayCall: (user, { name }) => !refused.has(`${user} ${name}`),
  mayServe: () => true,
});
const connect = async (user: string, endpoints?: LocalServices): Promise<Bus> => {
  const bus = await connectBus({ servers: nats.url, user, local: endpoints });
  after(() => bus.close());
  return bus;
};
const near = await connect("near", local);
const far = await connect("far");
const target = await connect("target", local);

const errors = {
  busy: { data: z.object({ waitMs: z.number() }), retryable: true },
  odd: { data: z.null() },
  denied: { data: z.object({ rule: z.null() }) },
};
const act = rpc({
  subject: "yard.rpc.{caller}.target.act",
  summary: "Does what its request names.",
  request: z.object({
    does: z.string().default("nothing"),
    args: z.record(z.string(), z.unknown()).default({}),
  }),
  reply: z.object({
    got: z.unknown().optional(),
    caller: z.string(),
    text: z.string().default("as declared"),
  }),
  errors,
  timeoutMs: 2_000,
});
const at = rpc({
  subject: "yard.rpc.{caller}.target.at.{place}",
  summary: "Answers where it is.",
  request: z.object({}),
  reply: z.object({ place: z.string() }),
});

const faults: unknown[] = [];
const started = (bus: Bus, concurrency = 64): Service =>
  serve(bus, {
    name: "target",
    version: "1.0.0",
    description: "Does what its request names",
    concurrency,
    onFault: ({ error }) => void faults.push(error),
  });
const service = started(target);
const stored: { args: Record<string, unknown>; reply: { got?: unknown } }[] = [];
service.handle(act, async ({ does, args }, { caller, deadline, fail, signal, correlationId }) => {
  switch (does) {
    case "changes":
      args["added"] = true;
      (args["list"] as unknown[]).push("more");
      break;
    case "keeps": {
      const reply = { got: args, caller: "same" };
      stored.push({ args, reply });
      return reply;
    }
    case "declared":
      throw fail.busy("not now", { waitMs: 5 });
    case "undeclared":
      throw new ServiceError("busy", "no such data", { data: "none" });
    case "fault":
      throw new TypeError("a bug");
    case "bad reply":
      return { caller: 1 } as never;
    case "no json":
      return { caller: "same", got: 1n };
    case "facts":
      return { caller: "same", got: [Math.sign(deadline - Date.now()), correlationId] };
    case "waits":
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    case "odd values":
      return { caller: "same", got: [undefined, NaN, -0, new Date(0), { left: undefined }] };
    default:
  }
  return { caller: caller === "" ? "" : "same", got: args };
});
await target.flush();

/** Messages that the near caller and the service have sent. */
const sent = (): number =>
  [near, target].reduce((sum, bus) => sum + connectionOf(bus).nc.stats().outMsgs, 0);

/** A call's outcome, as a caller sees it. */
async function outcomeOf(bus: Bus, request: z.input<typeof act.request>, options = {}) {
  try {
    return { reply: await call(bus, act, request, options) };
  } catch (error) {
    if (!(error instanceof ServiceError)) return { thrown: String(error) };
    const { code, message, data, retryable } = error;
    return { code, message: message.replace(/yard\.rpc\.\w+/, "yard.rpc.x"), data, retryable };
  }
}

test("a call to a service of the same process sends no message", async () => {
  const before = sent();
  const reply = await call(near, act, { args: { a: 1 } });
  assert.deepEqual(reply, { got: { a: 1 }, caller: "same", text: "as declared" });
  assert.equal(sent(), before);
  await call(far, act, {});
  assert.equal(sent(), before + 1);
});

test("a local call has the outcome that it has over NATS", async () => {
  const odd = { nan: NaN, zero: -0, at: new Date(0), list: [undefined], half: "\ud83d" };
  const requests: (z.input<typeof act.request> & object)[] = [
    {},
    { args: odd },
    { does: "odd values" },
    { does: "declared" },
    { does: "undeclared" },
    { does: "fault" },
    { does: "bad reply" },
    { does: "no json" },
    { does: "facts" },
    { does: 5 as never, args: [] as never },
  ];
  for (const request of requests) {
    faults.length = 0;
    const options = { correlationId: "c-1", timeoutMs: 10_000 };
    const nearby = await outcomeOf(near, request, options);
    const localFaults = faults.splice(0).map(String);
    assert.deepEqual(nearby, await outcomeOf(far, request, options), JSON.stringify(request));
    assert.deepEqual(localFaults, faults.map(String), JSON.stringify(request));
  }
  // The order of the two at the deadline, the end of the handler or that of the caller, is a matter of milliseconds.
  for (const bus of [near, far]) {
    const end = await outcomeOf(bus, { does: "waits" }, { timeoutMs: 200 });
    assert.match(String(end.code), /^(?:timeout|deadline_exceeded)$/);
  }
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  for (const args of [circle, { big: 1n }])
    assert.deepEqual(await outcomeOf(near, { args }), await outcomeOf(far, { args }));
  const past = { deadline: Date.now() - 1 };
  assert.deepEqual(await outcomeOf(near, {}, past), await outcomeOf(far, {}, past));
});

test("a local call has the limits that it has over NATS", async () => {
  const numbers = (length: number) => Array.from({ length }, (_one, index) => index);
  const keys = (length: number) =>
    Object.fromEntries(numbers(length).map((index) => [`k${index}`, 0]));
  const nested = (levels: number): unknown => (levels === 0 ? 0 : [nested(levels - 1)]);
  const refusedOnes: Record<string, unknown>[] = [
    { deep: nested(act.limits.maxDepth) },
    keys(act.limits.maxKeys + 1),
    { list: numbers(act.limits.maxValues + 1) },
    { text: "x".repeat(act.limits.maxBytes) },
    // Three bytes for each of its characters, and six for each of its escapes.
    { text: "€".repeat(act.limits.maxBytes / 3) },
    { text: "\0".repeat(act.limits.maxBytes / 6) },
  ];
  for (const args of refusedOnes) {
    const nearby = await outcomeOf(near, { args });
    assert.ok("code" in nearby);
    assert.match(nearby.code, /^(?:invalid_request|payload_too_large)$/);
    assert.deepEqual(nearby, await outcomeOf(far, { args }));
  }
  const before = sent();
  const most = { deep: nested(act.limits.maxDepth - 2), list: numbers(act.limits.maxValues / 2) };
  assert.deepEqual((await call(near, act, { args: most })).got, most);
  assert.equal(sent(), before);
  // The check of a large request stops at its first problem.
  for (const wrong of [{ a: numbers(3) }, { a: numbers(2_000) }]) {
    const request = { does: 5 as never, args: Object.values(wrong) as never };
    assert.deepEqual(await outcomeOf(near, request), await outcomeOf(far, request));
  }
});

test("a call with an attachment goes over NATS, and its service reads the bytes", async () => {
  const cli = await connect("cli", local);
  await ensureStreams(cli);
  const read = rpc({
    subject: "yard.rpc.{caller}.target.read",
    summary: "Measures what is attached.",
    request: z.object({}),
    reply: z.object({ bytes: z.number().nullable() }),
    attachment: { maxBytes: 1_000 },
  });
  const endpoint = service.handle(read, async (_request, context) => ({
    bytes: (await context.attachment())?.length ?? null,
  }));
  await target.flush();
  assert.deepEqual(await call(cli, read, {}), { bytes: null });
  const attachment = [new Uint8Array(600)];
  assert.deepEqual(await call(cli, read, {}, { attachment }), { bytes: 600 });
  const tooMany = { attachment: [...attachment, ...attachment] };
  await assert.rejects(call(cli, read, {}, tooMany), { code: "payload_too_large" });
  await endpoint.stop();
});

test("the two sides share no object", async () => {
  const args = { list: ["own"] };
  const { got } = await call(near, act, { does: "changes", args });
  assert.deepEqual(args, { list: ["own"] });
  assert.deepEqual(got, { list: ["own", "more"], added: true });
  const kept = await call(near, act, { does: "keeps", args });
  const [one] = stored.splice(0);
  assert.ok(one !== undefined);
  one.args["changed"] = "later";
  one.reply.got = "changed later";
  assert.deepEqual(kept.got, args);
  kept.got.list.push("of the caller");
  assert.deepEqual(one.args["list"], ["own"]);
});

test("each caller gets its own copy of a prepared reply", async () => {
  const prepared = rpc({
    subject: "yard.rpc.{caller}.target.prepared",
    summary: "Answers what was prepared.",
    request: z.object({}),
    reply: z.object({ list: z.array(z.string()) }),
  });
  const reply = prepareReply(prepared, { list: ["a"] });
  const endpoint = service.handle(prepared, () => reply);
  const first = await call(near, prepared, {});
  first.list.push("b");
  assert.deepEqual(await call(near, prepared, {}), { list: ["a"] });
  await endpoint.stop();
});

test("an aborted call ends with the signal's reason, and its handler continues", async () => {
  const controller = new AbortController();
  const calling = call(near, act, { does: "waits" }, { signal: controller.signal });
  controller.abort(new Error("left"));
  await assert.rejects(calling, { message: "left" });
  await assert.rejects(call(near, act, {}, { signal: controller.signal }), { message: "left" });
});

test("a handler begins after its caller has the promise, and outside of the caller's own context", async () => {
  const storage = new AsyncLocalStorage<string>();
  const order: (string | undefined)[] = [];
  const context = rpc({
    subject: "yard.rpc.{caller}.target.context",
    summary: "Looks around.",
    request: z.object({}),
    reply: z.object({}),
  });
  const endpoint = service.handle(context, () => {
    order.push("handler", storage.getStore());
    return {};
  });
  await storage.run("of the caller", async () => {
    const reply = call(near, context, {});
    order.push("called");
    await reply;
    order.push(storage.getStore());
  });
  assert.deepEqual(order, ["called", "handler", undefined, "of the caller"]);
  await endpoint.stop();
});

test("a call does not reach an endpoint with other tokens", async () => {
  const here = service.handle(at, (_request, { tokens }) => tokens, { place: "here" });
  await target.flush();
  const before = sent();
  assert.deepEqual(await call(near, at, {}, { tokens: { place: "here" } }), { place: "here" });
  assert.equal(sent(), before);
  await assert.rejects(call(near, at, {}, { tokens: { place: "there" } }), {
    code: "no_responders",
  });
  await here.stop();
  const any = service.handle(at, (_request, { tokens }) => tokens);
  assert.deepEqual(await call(near, at, {}, { tokens: { place: "there" } }), { place: "there" });
  await any.stop();
});

test("a call that the caller's permissions do not allow is left to nats-server", async () => {
  const other = await connect("other", local);
  refused.add("other target.act");
  const before = connectionOf(other).nc.stats().outMsgs;
  await call(other, act, {});
  assert.equal(connectionOf(other).nc.stats().outMsgs, before + 1);
});

test("a full endpoint leaves the call to another replica, over NATS", async () => {
  const small = await connect("small", local);
  const narrow = rpc({
    subject: "yard.rpc.{caller}.small.hold",
    summary: "Holds its calls.",
    request: z.object({}),
    reply: z.object({ by: z.string() }),
  });
  const gate = Promise.withResolvers<void>();
  started(small, 1).handle(narrow, async () => {
    await gate.promise;
    return { by: "here" };
  });
  await small.flush();
  const held = call(near, narrow, {});
  await assert.rejects(call(near, narrow, {}), { code: "overloaded" });
  const replica = await connect("replica");
  started(replica).handle(narrow, () => ({ by: "elsewhere" }));
  await replica.flush();
  // NATS may still choose the full one.
  const { by } = await until(() => call(near, narrow, {}).catch(() => null));
  assert.equal(by, "elsewhere");
  gate.resolve();
  assert.deepEqual(await held, { by: "here" });
});

test("a service that drains ends its local calls, and new ones go to another replica", async () => {
  const [leaving, staying] = [await connect("leaving", local), await connect("staying")];
  const slow = rpc({
    subject: "yard.rpc.{caller}.leaving.slow",
    summary: "Takes its time.",
    request: z.object({}),
    reply: z.object({ by: z.string() }),
  });
  const gate = Promise.withResolvers<void>();
  const first = started(leaving);
  first.handle(slow, async () => {
    await gate.promise;
    return { by: "leaving" };
  });
  started(staying).handle(slow, () => ({ by: "staying" }));
  await Promise.all([leaving.flush(), staying.flush()]);
  const held = call(near, slow, {});
  const drained = first.drain();
  // Until then NATS may choose the service that leaves.
  await leaving.flush();
  assert.deepEqual(await call(near, slow, {}), { by: "staying" });
  gate.resolve();
  assert.deepEqual(await held, { by: "leaving" });
  await drained;
});

test("a closed caller gets no reply, and a local call needs no connection", async () => {
  const closing = await connect("closing", local);
  const calling = call(closing, act, { does: "waits" });
  await closing.close();
  await assert.rejects(calling, { code: "disconnected", retryable: false });
  await assert.rejects(call(closing, act, {}), { code: "disconnected" });
  const own = await testNats();
  const alone = new LocalServices({ mayCall: () => true, mayServe: () => true });
  const both = { servers: own.url, local: alone };
  const [asking, answering] = [
    await connectBus({ ...both, user: "asking" }),
    await connectBus({ ...both, user: "answering" }),
  ];
  after(() => Promise.all([asking.close(), answering.close()]));
  started(answering).handle(act, () => ({ caller: "same" }));
  own.kill("SIGKILL");
  await until(() => asking.status === "reconnecting" && answering.status === "reconnecting");
  assert.equal((await client(asking, { act }).act({})).caller, "same");
});

test("discovery counts requests, and as errors what is not an answer that the service decided on", async () => {
  // An endpoint of its own: handlers of earlier calls to the other one may end meanwhile, at their deadline.
  const counted = rpc({
    subject: "yard.rpc.{caller}.target.counted",
    summary: "Fails as its request names.",
    request: z.object({ does: z.string() }),
    reply: z.object({}),
    errors,
  });
  const endpoint = service.handle(counted, ({ does }, { fail }) => {
    if (does === "denied") throw fail.denied("no rule allows it", { rule: null });
    if (does === "declared") throw fail.busy("not now", { waitMs: 5 });
    if (does === "fault") throw new TypeError("a bug");
    return {};
  });
  await target.flush();
  const countOf = async () => {
    const found = await discoverServices(far, { timeoutMs: 30_000 });
    const all = found.flatMap(({ endpoints }) => endpoints);
    return all.find(({ name }) => name === "target-counted") ?? assert.fail("no endpoint");
  };
  for (const bus of [near, far]) {
    const before = await countOf();
    await call(bus, counted, { does: "nothing" });
    for (const [does, code] of [
      ["denied", "denied"],
      ["declared", "busy"],
      ["fault", "internal"],
    ] as const)
      await assert.rejects(call(bus, counted, { does }), { code });
    const now = await countOf();
    assert.equal(now.requests - before.requests, 4);
    assert.equal(now.errors - before.errors, 2, "what is declared retryable, and the fault");
  }
  await endpoint.stop();
});
