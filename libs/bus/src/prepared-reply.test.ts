import assert from "node:assert/strict";
import { test } from "node:test";
import { rpc } from "@switchyard/contracts/define";
import { z } from "zod";
import { prepareListReply, prepareReply, replyBody } from "./prepared-reply.ts";

const contract = rpc({
  subject: "yard.rpc.{caller}.test.list",
  summary: "Lists texts.",
  role: "viewer",
  request: z.object({}),
  reply: z.object({ before: z.string(), items: z.array(z.string()), after: z.array(z.int()) }),
  errors: {},
  timeoutMs: 1_000,
});
const listOf = (count: number) => ({
  before: "[]",
  items: Array.from({ length: count }, (_, n) => `"${n}" \u{1F680}`),
  after: [1],
});

test("a long list that is written part by part reads as one that is written at once", async () => {
  for (const count of [0, 1, 200, 201, 1_000]) {
    const whole = replyBody(contract, prepareReply(contract, listOf(count)));
    const parts = replyBody(contract, await prepareListReply(contract, listOf(count), "items"));
    assert.deepEqual(JSON.parse(parts), JSON.parse(whole));
  }
});

test("a long list with an item that does not fit the contract is not sent", async () => {
  const items = [...listOf(500).items, 5] as string[]; // not a text on purpose
  await assert.rejects(
    prepareListReply(contract, { ...listOf(0), items }, "items"),
    /the reply of .* does not fit its schema: items\./,
  );
});
