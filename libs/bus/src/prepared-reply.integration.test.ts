import assert from "node:assert/strict";
import { test } from "node:test";
import { rpc } from "@switchyard/contracts/define";
import { testNats } from "@switchyard/testing/test-servers";
import { z } from "zod";
import { call } from "./call.ts";
import { prepareReply } from "./prepared-reply.ts";
import { serve } from "./serve.ts";
import { ensureStreams } from "./streams.ts";
import { testBus } from "@switchyard/testing/test-bus";

const read = rpc({
  subject: "yard.rpc.{caller}.shelf.read",
  summary: "Reads.",
  request: z.strictObject({}),
  reply: z.object({ text: z.string(), pages: z.int().default(1) }),
});
const weigh = rpc({
  subject: "yard.rpc.{caller}.shelf.weigh",
  summary: "Weighs.",
  request: z.strictObject({}),
  reply: z.object({ grams: z.int() }),
});

const nats = await testNats();
const caller = await testBus(nats, "cli");
await ensureStreams(caller);
const bus = await testBus(nats, "shelf");
const faults: unknown[] = [];
const service = serve(bus, {
  name: "shelf",
  version: "1.0.0",
  description: "Keeps texts",
  onFault: ({ error }) => faults.push(error),
});

test("a prepared reply arrives like any other, as often as it is sent, small and large", async () => {
  for (const length of [1, 600 * 1024]) {
    const text = "x".repeat(length);
    const prepared = prepareReply(read, { text });
    assert.ok(prepared.characters > length);
    const endpoint = service.handle(read, () => prepared);
    await bus.flush();
    assert.deepEqual(await call(caller, read, {}), { text, pages: 1 });
    assert.deepEqual(await call(caller, read, {}), { text, pages: 1 });
    await endpoint.stop();
  }
});

test("what is prepared is checked: fields that the contract does not know are gone, what does not fit is refused", async () => {
  const more = { text: "a", secret: "b" };
  const body = prepareReply(read, more);
  assert.equal(body.characters, prepareReply(read, { text: "a" }).characters);
  const wrong = { text: 5 } as unknown as { text: string }; // what the types forbid
  assert.throws(
    () => prepareReply(read, wrong),
    /the reply of .*read does not fit its schema: text/,
  );
});

test("a reply that was prepared for another contract, or not by prepareReply, is a fault", async () => {
  const foreign = prepareReply(read, { text: "a" });
  const replies = [foreign, { contract: weigh, characters: 2 }, null];
  for (const reply of replies) {
    faults.length = 0;
    const endpoint = service.handle(weigh, () => reply as unknown as { grams: number }); // what the types forbid
    await bus.flush();
    await assert.rejects(call(caller, weigh, {}), { code: "internal" });
    assert.match(String(faults[0]), /does not fit its schema/);
    await endpoint.stop();
  }
});
