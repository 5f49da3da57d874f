import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_INPUT_CHARACTERS, RunInput, startRun } from "./runs.ts";

test("the refusal of a command without a usable input describes an input", () => {
  for (const payload of [{}, { input: 7 }, { input: ["a"] }]) {
    const { error } = startRun.payload.safeParse(payload);
    assert.deepEqual(
      error?.issues.map(({ path, message }) => [path, message]),
      [
        [
          ["input"],
          "must be a text, a JSON object, or 1-64 parts: texts, and files as POST /files returns them",
        ],
      ],
    );
  }
});

test("the input of a new run has a maximum, as a text and as an object, and one of an old run has none", () => {
  const most = "x".repeat(MAX_INPUT_CHARACTERS);
  assert.ok(startRun.payload.safeParse({ input: most }).success);
  for (const input of [`${most}x`, { text: most }]) {
    const { error } = startRun.payload.safeParse({ input });
    assert.match(String(error?.issues[0]?.message), /at most 4 MiB/);
    assert.ok(RunInput.safeParse(input).success);
  }
});
