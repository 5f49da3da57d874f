import assert from "node:assert/strict";
import { test } from "node:test";
import { PostReply } from "./post-reply.ts";

test("what comes after the client of a stream has disconnected is dropped", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  let ends = 0;
  const onEnd = (): void => void (ends += 1);
  const reply = new PostReply([1], {}, { onEnd, readsStreams: true });
  t.mock.timers.tick(2_000);
  await (await reply.response).body?.cancel();
  reply.notify({ jsonrpc: "2.0", method: "notifications/progress" });
  reply.answer(1, { jsonrpc: "2.0", id: 1, result: {} });
  reply.end();
  t.mock.timers.tick(60_000);
  assert.equal(ends, 1);
});

test("a client that reads no streams gets a late answer as JSON", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const reply = new PostReply([1], {}, { onEnd: () => {}, readsStreams: false });
  t.mock.timers.tick(60_000);
  reply.answer(1, { jsonrpc: "2.0", id: 1, result: {} });
  const response = await reply.response;
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(await response.json(), { jsonrpc: "2.0", id: 1, result: {} });
});
