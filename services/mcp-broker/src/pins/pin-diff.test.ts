import assert from "node:assert/strict";
import { test } from "node:test";
import { pinDifferences } from "./pin-diff.ts";

test("shows where two definitions differ, with hidden characters made visible", () => {
  const before = {
    name: "a",
    description: "Reads",
    inputSchema: { required: ["x"], properties: { x: {} } },
  };
  const after = {
    name: "a",
    description: "Reads\u200b",
    inputSchema: { required: ["x", "y"], properties: {} },
    title: "A",
  };
  assert.deepEqual(pinDifferences(before, after), {
    differences: [
      { where: "/description", before: '"Reads"', after: '"Reads\\u{200b}"' },
      { where: "/inputSchema/required/1", before: null, after: '"y"' },
      { where: "/inputSchema/properties/x", before: "{}", after: null },
      { where: "/title", before: null, after: '"A"' },
    ],
    omitted: 0,
  });
});

test("shows a tool that was never approved as a whole, and nothing where nothing differs", () => {
  assert.deepEqual(pinDifferences(null, { a: 1 }).differences, [
    { where: "", before: null, after: '{"a":1}' },
  ]);
  assert.deepEqual(pinDifferences({ a: 1, b: [2] }, { b: [2], a: 1 }).differences, []);
});

test("counts differences beyond the limit", () => {
  const many = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`k${n}`, n]));
  const { differences, omitted } = pinDifferences({}, many);
  assert.equal(differences.length, 200);
  assert.equal(omitted, 50);
});
