import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import { checkCounted, JsonGauge } from "./bounded-json.ts";

const limits = { maxBytes: 1_000, maxDepth: 3, maxKeys: 5, maxValues: 8 };
const verdict = (text: string, some: Partial<typeof limits> = {}) =>
  new JsonGauge({ ...limits, ...some }).add(Buffer.from(text));

test("a document is refused at one more than each limit, and accepted at the limit", () => {
  assert.equal(verdict("[[[]]]"), null);
  assert.match(verdict("[[[[]]]]") ?? "", /deeper than 3/);
  assert.equal(verdict('{"a":1,"b":1,"c":1,"d":1,"e":1}'), null);
  assert.match(verdict('{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}') ?? "", /more than 5 keys/);
  assert.equal(verdict("[1,1,1,1,1,1,1,1]"), null);
  assert.match(verdict("[1,1,1,1,1,1,1,1,1]") ?? "", /more than 8 values/);
  assert.match(verdict(`"${"x".repeat(1_000)}"`) ?? "", /larger than 1000 bytes/);
});

test("repeated keys count each, and signs within texts do not", () => {
  assert.match(verdict(`{${Array(6).fill('"a":1').join()}}`) ?? "", /keys/);
  assert.equal(verdict(String.raw`["[[[[::::::,,,,,,,,,\"[[[[", "\\"]`), null);
});

test("the counts are the same however the bytes are cut into parts", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 7 }), (value, size) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const gauge = new JsonGauge(limits);
      let found: string | null = null;
      for (let at = 0; at < bytes.length && found === null; at += size)
        found = gauge.add(bytes.subarray(at, at + size));
      assert.equal(found === null, verdict(bytes.toString()) === null);
    }),
  );
});

test("a large value is checked to its first problem, a small one to its last", () => {
  const schema = z.object({ names: z.array(z.object({ id: z.string() })) });
  const value = { names: Array.from({ length: 50 }, () => ({ id: 1 })) };
  assert.equal(checkCounted(schema, value, { isLarge: false }).error?.issues.length, 50);
  assert.equal(checkCounted(schema, value, { isLarge: true }).error?.issues.length, 1);
});
