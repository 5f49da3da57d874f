import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenQuestion } from "./backend.ts";
import { createParkedCalls } from "./parked-calls.ts";

const question = (id: string, askedAt = new Date()): OpenQuestion => ({
  id,
  server: "lab",
  message: "Which colour?",
  url: null,
  askedAt: askedAt.toISOString(),
  expiresAt: askedAt.toISOString(),
});

test("a call during which its server asks returns the question, and the same call made again its result", async () => {
  const calls = createParkedCalls<string>(1);
  const { promise, resolve } = Promise.withResolvers<string>();
  let begun = 0;
  const begin = () => {
    begun += 1;
    return promise;
  };
  const old = question("q-old", new Date(Date.now() - 600_000));
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 1) throw new Error("the gateway is away");
    return [old, question("q-new")];
  };
  const first = await calls.make("same", begin, read);
  assert.equal("question" in first && first.question.id, "q-new");
  const second = calls.make("same", begin, read);
  resolve("red");
  assert.deepEqual([await second, begun], [{ result: "red" }, 1]);
  await calls.make("same", begin, read);
  assert.equal(begun, 2);
});

test("the failure of a call that waited for an answer reaches the next equal call, which is not made", async () => {
  const calls = createParkedCalls<string>(1);
  const { promise, reject } = Promise.withResolvers<string>();
  await calls.make(
    "same",
    () => promise,
    async () => [question("q-1")],
  );
  reject(new Error("too late"));
  const again = calls.make(
    "same",
    async () => "made",
    async () => [],
  );
  await assert.rejects(again, /too late/);
});
