import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunChat } from "@switchyard/contracts/run-context";
import { crossing, deliveryOf } from "./message-delivery.ts";

const target = { kind: "group" as const, id: "-100" };
const chat: RunChat = {
  address: { channel: "telegram", accountId: "main", target, threadId: "5" },
  messageId: "77",
  sender: { id: "42" },
};
const claimed = {
  originChannel: "slack",
  originTo: "user:boss",
  originMessageId: "1",
  originThreadId: "9",
};

test("a run works in the chat of its token, whatever its model names [F14] [F17] [F21] [F22]", () => {
  const expected = {
    channel: "telegram",
    accountId: "main",
    originChannel: "telegram",
    originAccountId: "main",
    originTo: "group:-100",
    originThreadId: "5",
    originMessageId: "77",
  };
  assert.deepEqual(deliveryOf({ runId: "run-1", chat }, claimed), expected);
  assert.deepEqual(deliveryOf({ runId: "run-1", chat: null }, claimed), {
    channel: undefined,
    accountId: undefined,
  });
  assert.deepEqual(deliveryOf({ runId: null, chat: null }, claimed), claimed);
});

test("an account of another channel is not the account of the chat", () => {
  const named = deliveryOf({ runId: "run-1", chat }, { channel: "slack" });
  assert.deepEqual([named.channel, named.accountId], ["slack", undefined]);
});

test("another chat, account or channel than the run's is a crossing [F13] [F16] [F20]", () => {
  const delivery = deliveryOf({ runId: "run-1", chat }, {});
  const { address } = chat;
  assert.equal(crossing(delivery, address), "none");
  assert.equal(crossing(delivery, { channel: "telegram", target }), "none");
  assert.equal(crossing(delivery, { ...address, threadId: "6" }), "none");
  assert.equal(crossing(delivery, { ...address, target: { kind: "user", id: "42" } }), "chat");
  assert.equal(crossing(delivery, { ...address, target: { kind: "user", id: "-100" } }), "chat");
  assert.equal(crossing(delivery, { ...address, accountId: "other" }), "chat");
  assert.equal(crossing(delivery, { ...address, channel: "slack" }), "channel");
});
