import assert from "node:assert/strict";
import { test } from "node:test";
import { startRun } from "./runs.ts";

test("a command without a usable input is told what an input is", () => {
  for (const payload of [{}, { input: 7 }, { input: ["a"] }]) {
    const { error } = startRun.payload.safeParse(payload);
    assert.deepEqual(
      error?.issues.map(({ path, message }) => [path, message]),
      [[["input"], "must be a text or a JSON object"]],
    );
  }
});
