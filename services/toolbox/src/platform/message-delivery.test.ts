import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunChat } from "@switchyard/contracts/agent-runner/run-context";
import { addressOf, crossing, deliveryOf } from "./message-delivery.ts";

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
    channel: undefined,
    accountId: undefined,
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

test("the channel and account of the chat are used where a call names none, and its account in its channel alone [F14]", async () => {
  const unused = () => assert.fail("no service is needed");
  const addressIn = (named: { channel?: string; accountId?: string }) =>
    addressOf(unused, {} as never, {
      delivery: deliveryOf({ runId: "run-1", chat }, named),
      target: "user:7",
      action: "send",
    });
  const to = { kind: "user", id: "7" };
  assert.deepEqual(await addressIn({}), { channel: "telegram", accountId: "main", target: to });
  assert.deepEqual(await addressIn({ channel: "slack" }), { channel: "slack", target: to });
  assert.deepEqual(await addressIn({ accountId: "b" }), {
    channel: "telegram",
    accountId: "b",
    target: to,
  });
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
