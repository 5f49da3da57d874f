import assert from "node:assert/strict";
import { test } from "node:test";
import { RunId } from "@switchyard/contracts/ids";
import fc from "fast-check";
import { runIdOf } from "./run-id.ts";

const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test("agrees with the example of the ULID specification on the time part", () => {
  assert.equal(runIdOf(1_469_918_176_385, new Uint8Array(10)).slice(0, 10), "01ARYZ6S41");
});

test("every id is a valid run id of 26 characters", () => {
  fc.assert(
    fc.property(time, bytes, (now, random) => {
      const id = runIdOf(now, random);
      assert.equal(id.length, 26);
      assert.ok(RunId.safeParse(id).success);
    }),
  );
});

test("ids of different times sort by time, whatever the random part", () => {
  fc.assert(
    fc.property(time, time, bytes, bytes, (a, b, first, second) => {
      fc.pre(a < b);
      assert.ok(runIdOf(a, first) < runIdOf(b, second));
    }),
  );
});

test("ids of one moment differ when their random parts do", () => {
  fc.assert(
    fc.property(time, bytes, bytes, (now, first, second) => {
      fc.pre(Buffer.compare(first, second) !== 0);
      assert.notEqual(runIdOf(now, first), runIdOf(now, second));
    }),
  );
});
