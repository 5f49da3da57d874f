import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDeliveries } from "./check-deliveries.ts";

const conversation = "person-1";
const ended = (...ends: { status: "ok" | "error" | "skipped"; error: string | null }[]) => ({
  messages: [],
  jobs: [{ jobId: "job-1", ends }],
});
const answered = (...answers: string[]) => ({
  messages: [{ conversation, said: ["a", "b"], answers }],
  jobs: [],
});
const ok = { status: "ok", error: null } as const;

test("finds messages that were answered twice, never, or with something else", () => {
  assert.deepEqual(checkDeliveries(answered("a", "b")), []);
  const where = (...answers: string[]) =>
    checkDeliveries(answered(...answers)).map((one) => one.where);
  assert.deepEqual(where("a", "b", "a"), ["a"]);
  assert.deepEqual(where("b"), ["a"]);
  assert.deepEqual(where("a", "b", "Sorry"), [conversation]);
});

test("finds jobs that ran twice, never, or to no good end", () => {
  assert.deepEqual(checkDeliveries(ended(ok)), []);
  for (const wrong of [ended(), ended(ok, ok), ended({ status: "skipped", error: "late" })])
    assert.deepEqual(
      checkDeliveries(wrong).map(({ rule }) => rule),
      ["job-end"],
    );
});
