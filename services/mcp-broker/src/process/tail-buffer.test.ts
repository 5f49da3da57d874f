import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TailBuffer } from "./tail-buffer.ts";

test("keeps exactly the last bytes of whatever was written", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.stringMatching(/^[ -~]{0,30}$/)),
      (limit, writes) => {
        const tail = new TailBuffer(limit);
        for (const text of writes) tail.push(Buffer.from(text));
        assert.equal(tail.text(), writes.join("").slice(-limit));
      },
    ),
  );
});
