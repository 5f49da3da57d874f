import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./until.ts";

test("asks until there is an answer, and returns it", async () => {
  const answers = [null, undefined, false, 0];
  assert.equal(await until(() => answers.shift()), 0);
  assert.deepEqual(answers, []);
});

test("with a condition of its own any answer may be the one", async () => {
  let count = 0;
  const more = () => Promise.resolve((count += 1));
  assert.equal(await until(more, (answer) => answer === 3), 3);
});

test("gives up after its time and reports the condition and the last answer", async () => {
  await assert.rejects(
    until(
      () => ({ status: "connecting" }),
      ({ status }) => status === "connected",
      { timeoutMs: 50 },
    ),
    {
      message:
        'waited 0.05 s for () => ({ status: "connecting" }), ({ status }) => status === "connected"; ' +
        "the last answer was { status: 'connecting' }",
    },
  );
});

test("gives up on a question that is never answered", async () => {
  await assert.rejects(
    until(
      () => new Promise<boolean>(() => {}),
      (answer) => answer,
      { timeoutMs: 50 },
    ),
    /waited 0\.05 s for .*; no answer$/,
  );
});

test("an error of the question is passed on at once", async () => {
  await assert.rejects(
    until(() => Promise.reject(new RangeError("no such run"))),
    /no such run/,
  );
});
