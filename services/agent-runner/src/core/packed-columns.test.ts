import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { packColumns, unpackColumns } from "./packed-columns.ts";

const USUAL = {
  agent: "invoice-checker",
  model: "anthropic/claude-sonnet-4-5",
  createdAt: "2026-11-30T13:22:18.280Z",
  updatedAt: "2026-11-30T13:22:49.257Z",
  labels: "{}",
  inputStart: "Summarize the open invoices of October",
  steps: "4",
  toolCalls: "3",
  events: "12",
  attempts: "1",
  bytes: "2697",
  usage: '{"inputTokens":12340,"outputTokens":3210,"cacheReadTokens":9000}',
  costUsd: "0.0412345",
};

test("the columns of a usual run become one of less than 100 bytes, and come back", () => {
  const packed = packColumns(USUAL);
  assert.ok(packed.length < 100, `${packed.length} bytes`);
  assert.deepEqual(unpackColumns(packed), USUAL);
});

test("what an earlier process has packed is read", () => {
  assert.deepEqual(unpackColumns(Buffer.from(PACKED, "base64")), USUAL);
});

test("values of every other form come back as they were", () => {
  const odd: Record<string, string>[] = [
    {},
    { costUsd: "null", inputStart: "", labels: "" },
    { labels: '{"team":"a","10":"x","2":"y","__proto__":"z"}', inputStart: "两行\n🙂 \t\r\0" },
    { createdAt: "2026-01-01T00:00:00Z", updatedAt: "soon", steps: "007", events: "-1" },
    { steps: "1.5", toolCalls: "NaN", attempts: "9007199254740993", bytes: "1e21" },
    { usage: '{"outputTokens":1,"inputTokens":2}' },
    { usage: '{"inputTokens":1,"outputTokens":0,"estimatedTokens":7}', costUsd: "1e-7" },
    { usage: '{"inputTokens":1.5,"outputTokens":2,"more":3}' },
    { usage: "not JSON" },
    { usage: "null", agent: "\n", model: "a\nb" },
    { errorCode: "x", failure: '{"code":"x","message":"\\"\\n"}', "open:c1": "1", wakeSeq: "3" },
    { __proto__: null, constructor: "c", toString: "t" } as never,
  ];
  for (const columns of odd)
    assert.deepEqual(unpackColumns(packColumns(columns)), { ...columns }, JSON.stringify(columns));
});

test("any columns come back", () => {
  const name = fc.oneof(fc.constantFrom(...Object.keys(USUAL)), fc.string());
  const value = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.integer().map(String),
    fc.json(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  );
  fc.assert(
    fc.property(fc.dictionary(name, value, { noNullPrototype: true }), (columns) => {
      assert.deepEqual(unpackColumns(packColumns(columns)), columns);
    }),
  );
});

/** {@link USUAL}, packed by the first version that packs columns. */
const PACKED =
  "w2d2Zl5ZfmZyqm5yRmpydmoRV26FcWKxeWE6hFGWW8FlmVmsY5RhpmNWCbbTxNDI2MQUYYVRBVdwaW5uYlFmVaoCKNpAYaEANbYYFIH+ySX5SalFIJcAAA==";
