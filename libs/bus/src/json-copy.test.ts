import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonGauge } from "./bounded-json.ts";
import { copyJson, REPLY_LIMITS } from "./json-copy.ts";
import { encodeJson, encodeValue, decodeReply } from "./wire.ts";

const viaText = (value: unknown): unknown => {
  const reply = decodeReply(encodeValue(value));
  assert.ok(reply?.ok);
  return reply.value;
};

/** Everything that a handler could put into a reply, JSON or not. */
const anything = fc.anything({
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
});

test("a copy equals the value that a receiver parses from the JSON text", () => {
  fc.assert(
    fc.property(anything, (value) => {
      assert.deepEqual(copyJson(value, REPLY_LIMITS)?.value, viaText(value));
    }),
    { numRuns: 100 },
  );
});

test("a copy has the changes that JSON makes", () => {
  class Money {
    readonly #cents = 5;
    own = 1;
    toJSON(key: string) {
      return { cents: this.#cents, key, toJSON: () => "not asked" };
    }
  }
  const symbol = Symbol("s");
  const value = {
    missing: undefined,
    call: () => 1,
    [symbol]: 1,
    list: Object.assign([undefined, () => 1, symbol], { 4: null }),
    numbers: [NaN, Infinity, -Infinity, -0],
    date: new Date(0),
    never: new Date(NaN),
    money: new Money(),
    bytes: Buffer.from("ab"),
    map: new Map([[1, 2]]),
    "half \ud83d": ["\ud800", "\udc00 \ud83d", "😀"],
    boxed: [Object(1), Object("s"), Object(false)],
    error: new Error("e"),
    [`__proto__`]: { polluted: true },
  };
  Object.defineProperty(value, "hidden", { value: 1, enumerable: false });
  const copy = copyJson(value, REPLY_LIMITS)?.value as Record<string, unknown>;
  assert.deepEqual(copy, viaText(value));
  assert.ok(Object.is((copy["numbers"] as number[])[3], 0));
  const named: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
  const again = copyJson(named, REPLY_LIMITS)?.value as object;
  assert.deepEqual(Object.keys(again), ["__proto__"]);
  assert.equal("polluted" in again, false);
});

test("a copy shares no object with its original", () => {
  const value = { list: [{ deep: {} }], record: { a: [1] } };
  const copy = copyJson(value, REPLY_LIMITS)?.value as typeof value;
  assert.deepEqual(copy, value);
  assert.notEqual(copy.list, value.list);
  assert.notEqual(copy.list[0], value.list[0]);
  assert.notEqual(copy.list[0]?.deep, value.list[0]?.deep);
  assert.notEqual(copy.record.a, value.record.a);
});

test("a value that JSON cannot carry, or not in so many bytes, is not copied", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  for (const value of [circle, { big: 1n }, [Object(1n)]]) {
    assert.equal(copyJson(value, REPLY_LIMITS), null);
    assert.throws(() => JSON.stringify(value), TypeError);
  }
  const text = { text: "x".repeat(1_000) };
  assert.equal(copyJson(text, { ...REPLY_LIMITS, maxBytes: 900 }), null);
  assert.ok((copyJson(text, { ...REPLY_LIMITS, maxBytes: 1_100 })?.bytes ?? 0) > 1_000);
  assert.equal(
    copyJson(
      Array.from({ length: 1_000 }, () => ({})),
      { ...REPLY_LIMITS, maxBytes: 1_000 },
    ),
    null,
  );
});

test("keys, values and levels of a copy are counted as those of the JSON text", () => {
  const few = fc.nat({ max: 12 });
  const limitsOf = fc.record({
    maxDepth: fc.integer({ min: 1, max: 4 }),
    maxKeys: few,
    maxValues: few,
  });
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), limitsOf, (value, counts) => {
      const limits = { ...REPLY_LIMITS, ...counts };
      const problem = new JsonGauge(limits).add(Buffer.from(encodeJson(value)));
      assert.equal(copyJson(value, limits) === null, problem !== null);
    }),
    { numRuns: 200 },
  );
  for (const length of [1_000, 1_001]) {
    const list = Array.from({ length }, () => 0);
    const gauge = new JsonGauge(REPLY_LIMITS);
    gauge.add(Buffer.from(encodeJson(list)));
    assert.equal(copyJson(list, REPLY_LIMITS)?.isLarge, gauge.isLarge);
  }
});

test("an error of a toJSON or a getter is thrown", () => {
  const thrown = new Error("own");
  const fails = {
    get member(): never {
      throw thrown;
    },
  };
  assert.throws(() => copyJson(fails, REPLY_LIMITS), thrown);
});
