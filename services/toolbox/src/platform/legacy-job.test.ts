import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutLegacyFields } from "./legacy-job.ts";

const payload = { kind: "agentTurn", message: "hi" };

test("delivery fields of an older payload become the job's delivery, and never replace one [F25]", () => {
  const chat = { channel: "telegram", to: "user:1" };
  for (const [legacy, delivery] of [
    [
      { deliver: true, ...chat, bestEffortDeliver: true },
      { mode: "announce", ...chat, bestEffort: true },
    ],
    [{ ...chat }, { mode: "announce", ...chat }],
    [{ deliver: true }, { mode: "announce" }],
    [{ deliver: false, ...chat }, { mode: "none" }],
    [{ allowUnsafeExternalContent: true }, undefined],
  ] as const)
    assert.deepEqual(withoutLegacyFields({ name: "a", payload: { ...payload, ...legacy } }), {
      name: "a",
      payload,
      ...(delivery !== undefined && { delivery }),
    });
  const own = { mode: "none" };
  assert.deepEqual(withoutLegacyFields({ payload: { ...payload, ...chat }, delivery: own }), {
    payload,
    delivery: own,
  });
  for (const other of [
    { name: "a", payload },
    { payload: "text" },
    { name: "a" },
    null,
    "x",
    [payload],
  ])
    assert.deepEqual(withoutLegacyFields(other), other);
});
