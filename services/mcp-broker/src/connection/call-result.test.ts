import assert from "node:assert/strict";
import { test } from "node:test";
import { callResult } from "./call-result.ts";

const validate = callResult["~standard"].validate;

test("a result passes as it came, with blocks of kinds that nobody knows yet", async () => {
  const result = {
    content: [
      { type: "text", text: "hi", annotations: { priority: 1 } },
      { type: "hologram", at: 3 },
    ],
    structuredContent: { a: 1 },
    isError: true,
    _meta: { own: true },
  };
  const outcome = await validate(result);
  assert.ok(outcome.issues === undefined);
  assert.equal(outcome.value, result);
});

test("a result without content is an empty one", async () => {
  assert.deepEqual(await validate({}), { value: { content: [] } });
});

test("a result of 2024-10-07, which may be anything, is a text", async () => {
  for (const [toolResult, text] of [
    ["words", "words"],
    [{ a: [1] }, '{"a":[1]}'],
    [null, "null"],
    [0, "0"],
  ] as const) {
    const content = [{ type: "text", text }];
    assert.deepEqual(await validate({ toolResult, _meta: {} }), { value: { content, _meta: {} } });
  }
  const both = { content: [], toolResult: "kept as it came" };
  assert.deepEqual(await validate(both), { value: both });
  const deep: unknown = JSON.parse("[".repeat(20_000) + "]".repeat(20_000));
  assert.ok((await validate({ toolResult: deep })).issues !== undefined);
});

test("what is not a result is refused with the place", async () => {
  for (const [value, message] of [
    [null, "it is not an object"],
    [[], "it is not an object"],
    [{ content: "text" }, "content is not a list"],
    [
      { content: [{ type: "text", text: "a" }, { type: "text" }] },
      "content[1] is not a content block",
    ],
    [{ content: [null] }, "content[0] is not a content block"],
    [{ content: [{ text: "a" }] }, "content[0] is not a content block"],
    [{ isError: "no" }, "isError is not a boolean"],
    [{ structuredContent: 5 }, "structuredContent is not an object"],
  ] as const)
    assert.deepEqual(await validate(value), { issues: [{ message }] });
});
