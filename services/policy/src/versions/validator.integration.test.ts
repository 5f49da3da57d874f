import assert from "node:assert/strict";
import { test } from "node:test";
import { createValidator, MAX_VALIDATIONS } from "./validator.ts";

const texts = {
  files: [
    {
      name: "p.yaml",
      text: "version: 1\nrules:\n  - { id: all, effect: allow, approval: auto }\n",
    },
  ],
  tests: [
    {
      name: "p.test.yaml",
      text: "tests:\n  - { name: x, given: { tool: x }, expect: allow, by: all }\n",
    },
  ],
};
const never = new AbortController().signal;
const asked = { caller: "team-a", isChange: false, signal: never };

test("a text is checked in a thread of its own", async () => {
  const reply = await createValidator().validate(texts, asked);
  assert.equal(reply?.valid, true);
  assert.deepEqual(reply.tests, [
    { name: "x", file: "p.test.yaml", line: 2, passed: true, message: null },
  ]);
});

test("checks that take too long are ended, and the reply states it", async () => {
  const validator = createValidator({ limitMs: 0 });
  for (let round = 0; round <= MAX_VALIDATIONS; round += 1) {
    const reply = await validator.validate(texts, asked);
    assert.equal(reply?.valid, false, "the place of an ended check is free again");
    assert.match(reply.problems[0]?.message ?? "", /^the checks took too long/);
  }
});

test("more texts at a time than the limit are refused, and a caller that gave up is not waited for", async () => {
  const validator = createValidator();
  const leaving = new AbortController();
  const running = Array.from({ length: MAX_VALIDATIONS }, (_, index) =>
    validator.validate(texts, { ...asked, caller: `team-${index}`, signal: leaving.signal }),
  );
  assert.equal(await validator.validate(texts, asked), null);
  leaving.abort(new Error("gone"));
  for (const ended of await Promise.allSettled(running)) {
    assert.match(ended.status === "rejected" ? String(ended.reason) : "answered", /gone/);
  }
  assert.equal((await validator.validate(texts, asked))?.valid, true);
});

test("one caller's checks leave a slot for the next caller, and no check uses the slot of a change", async () => {
  // Three threads that start side by side may take longer than the limit on a busy machine.
  const validator = createValidator({ limitMs: 60_000 });
  const own = validator.validate(texts, asked);
  assert.equal(await validator.validate(texts, asked), null);
  const other = validator.validate(texts, { ...asked, caller: "team-b" });
  assert.equal(await validator.validate(texts, { ...asked, caller: "team-c" }), null);
  const change = validator.validate(texts, { ...asked, caller: "cli", isChange: true });
  for (const reply of await Promise.all([own, other, change])) assert.equal(reply?.valid, true);
});
