import assert from "node:assert/strict";
import { test } from "node:test";
import { PendingCalls } from "./tool-bridge.ts";
import type { HostEvent, KnownResult } from "./host-protocol.ts";

const NEVER = new AbortController().signal;

function openBook(known: KnownResult[] = []) {
  const calls: Extract<HostEvent, { type: "call" }>[] = [];
  const book = new PendingCalls(known, (event) => {
    if (event.type === "call") calls.push(event);
  });
  return { book, calls };
}

test("a call is published once and gets the result for its id", async () => {
  const { book, calls } = openBook();
  const result = book.make("read", { path: "a" }, NEVER);
  book.answer("unknown", { text: "no", isError: true });
  book.answer(calls[0]?.id ?? "", { text: "yes", isError: false });
  assert.deepEqual(await result, { content: [{ type: "text", text: "yes" }], isError: false });
  assert.equal(calls.length, 1);
});

test("a call that was given up is not repeated: the same call gets its result", async () => {
  const { book, calls } = openBook();
  const first = new AbortController();
  void book.make("read", { path: "a", deep: { x: 1, y: 2 } }, first.signal);
  first.abort();
  const again = book.make("read", { deep: { y: 2, x: 1 }, path: "a" }, NEVER);
  const other = book.make("read", { path: "b" }, NEVER);
  assert.deepEqual(
    calls.map(({ input }) => (input as { path: string }).path),
    ["a", "b"],
  );
  for (const [at, { id }] of calls.entries()) book.answer(id, { text: String(at), isError: false });
  assert.deepEqual((await again).content, [{ type: "text", text: "0" }]);
  assert.deepEqual((await other).content, [{ type: "text", text: "1" }]);
});

test("a result from before is given once, and then the call is made", async () => {
  const before = { tool: "read", input: { path: "a" }, text: "known", isError: false };
  const { book, calls } = openBook([before]);
  const first = await book.make("read", { path: "a" }, NEVER);
  assert.deepEqual(first.content, [{ type: "text", text: "known" }]);
  assert.equal(calls.length, 0);
  void book.make("read", { path: "a" }, NEVER);
  assert.equal(calls.length, 1);
});
