import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRateLimit } from "./rate-limit.ts";

test("in no minute there are more than the limit, and a free place is given", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(40_000), { maxLength: 60 }),
      fc.integer({ min: 1, max: 5 }),
      (pauses, perMinute) => {
        let at = 0;
        const limit = createRateLimit(perMinute, () => at);
        const taken: number[] = [];
        for (const pause of pauses) {
          at += pause;
          const inWindow = taken.filter((time) => time > at - 60_000).length;
          assert.equal(limit.take(), inWindow < perMinute);
          if (inWindow < perMinute) taken.push(at);
        }
      },
    ),
  );
});
