import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { renewWhile } from "./renew-while.ts";

const gone = new ServiceError("no_responders", "nobody", { retryable: true });
const denied = new ServiceError("denied", "no");

test("renews until it is stopped, and reports once when it cannot and once when it can again", async () => {
  const ending = new AbortController();
  const answers = [null, gone, gone, null, null];
  const notices: unknown[] = [];
  const end = await renewWhile({
    renew: () => {
      const answer = answers.shift();
      if (answers.length === 0) ending.abort();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve();
    },
    everyMs: 1,
    signal: ending.signal,
    onTrouble: (error) => notices.push(error),
  });
  assert.deepEqual([end, notices], [null, [gone, null]]);
});

test("ends with a refusal that no other try can change", async () => {
  const end = await renewWhile({
    renew: () => Promise.reject(denied),
    everyMs: 1,
    signal: new AbortController().signal,
    onTrouble: () => assert.fail("it is no passing trouble"),
  });
  assert.equal(end, denied);
});
