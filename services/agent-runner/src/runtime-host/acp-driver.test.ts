import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionCost, turnUsage } from "./acp-driver.ts";
import type { HostEvent } from "./host-protocol.ts";

test("the tokens of a turn are read from the protocol's draft, or from Gemini CLI's quota", () => {
  const usage = {
    totalTokens: 25,
    inputTokens: 10,
    outputTokens: 5,
    cachedReadTokens: 6,
    cachedWriteTokens: null,
    thoughtTokens: 4,
  };
  assert.deepEqual(turnUsage({ stopReason: "end_turn", usage }), {
    inputTokens: 16,
    cachedTokens: 6,
    outputTokens: 9,
  });
  const quota = { token_count: { input_tokens: 7, output_tokens: 2 }, model_usage: [] };
  assert.deepEqual(turnUsage({ stopReason: "end_turn", _meta: { quota } }), {
    inputTokens: 7,
    cachedTokens: 0,
    outputTokens: 2,
  });
  for (const answer of [
    { stopReason: "end_turn" },
    { usage: null, _meta: { other: 1 } },
    { usage: { inputTokens: -1, outputTokens: 1 } },
    { usage: "much", _meta: null },
    null,
  ])
    assert.equal(turnUsage(answer), null, JSON.stringify(answer));
});

test("the costs of a session are reported as they grow, in dollars, and once when it is resumed", () => {
  const received = (resumed: boolean, before: readonly number[], amounts: readonly number[]) => {
    const reported: (number | undefined)[] = [];
    const cost = new SessionCost((event: HostEvent) =>
      reported.push(event.type === "usage" ? event.costUsd : undefined),
    );
    for (const amount of before) cost.update({ amount, currency: "USD" });
    cost.begin(resumed);
    for (const amount of amounts) cost.update({ amount, currency: "USD" });
    cost.update({ amount: 99, currency: "credits" });
    cost.update(null);
    return reported;
  };
  assert.deepEqual(received(false, [], [0.25, 0.25, 1]), [0.25, 0.75]);
  assert.deepEqual(received(true, [0.5], [1]), [0.5]);
  assert.deepEqual(received(true, [], [1, 1.5]), [0.5]);
});
