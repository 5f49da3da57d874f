import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../problems/problem.ts";
import { BODY_BUDGETS, BytesInWork } from "./bytes-in-work.ts";

const refusal = (status: number) => (problem: Problem) =>
  problem.status === status && problem.code === "too_many_bytes";

test("an address and a caller hold as much as each may, and all of a kind as much as all may", () => {
  for (const [budget, ownerOf] of [
    [BODY_BUDGETS.strangers, (name: string) => ({ address: name })],
    [BODY_BUDGETS.callers, (name: string) => ({ caller: name })],
  ] as const) {
    const bytes = new BytesInWork();
    const owners = budget.all / budget.each;
    const held = Array.from({ length: owners }, (_, index) => {
      const one = bytes.begin();
      one.hold(ownerOf(`o${index}`), budget.each);
      assert.throws(() => one.hold(ownerOf(`o${index}`), 1), refusal(429));
      return one;
    });
    assert.throws(() => bytes.begin().hold(ownerOf("further"), 1), refusal(503));
    held[0]?.release();
    bytes.begin().hold(ownerOf("further"), 1);
  }
});

test("unauthenticated clients use none of the bytes that callers may hold", () => {
  const bytes = new BytesInWork();
  const { all, each } = BODY_BUDGETS.strangers;
  for (let taken = 0; taken < all; taken += each)
    bytes.begin().hold({ address: String(taken) }, each);
  bytes.begin().hold({ caller: "team-a" }, BODY_BUDGETS.callers.each);
});

test("a request releases its bytes once", () => {
  const bytes = new BytesInWork();
  const { each } = BODY_BUDGETS.callers;
  const one = bytes.begin();
  one.hold({ caller: "team-a" }, each);
  one.release();
  one.release();
  bytes.begin().hold({ caller: "team-a" }, each);
  assert.throws(() => bytes.begin().hold({ caller: "team-a" }, 1), refusal(429));
});

test("bytes that a caller has stored count until the object store has removed them", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const bytes = new BytesInWork();
  const { each } = BODY_BUDGETS.stored;
  const one = bytes.begin();
  one.store("team-a", each);
  one.release();
  assert.throws(() => bytes.begin().store("team-a", 1), refusal(429));
  context.mock.timers.tick(120_000);
  bytes.begin().store("team-a", each);
});
