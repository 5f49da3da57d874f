import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fitMemories, type ReadMemory } from "./fit-memories.ts";

test("returns the shortest texts first and the lengths of the others", () => {
  const read = [
    { name: "a", text: "x".repeat(300) },
    { name: "b", text: "short" },
    { name: "c", text: null },
    { name: "d", text: "y".repeat(100) },
  ];
  assert.deepEqual(fitMemories(read, 256), [
    { name: "a", text: null, bytes: 300 },
    { name: "b", text: "short", bytes: 5 },
    { name: "c", text: null, bytes: null },
    { name: "d", text: "y".repeat(100), bytes: 100 },
  ]);
});

test("names and texts never exceed the limit, and names keep their order", () => {
  const memory: fc.Arbitrary<ReadMemory> = fc.record({
    name: fc.string({ minLength: 1, maxLength: 128, unit: "grapheme" }),
    text: fc.option(fc.string({ maxLength: 400, unit: "grapheme" })),
  });
  const memories = fc.uniqueArray(memory, { selector: ({ name }) => name, maxLength: 64 });
  fc.assert(
    fc.property(memories, fc.integer({ min: 256, max: 4_096 }), (read, maxBytes) => {
      const fitted = fitMemories(read, maxBytes);
      const bytes = fitted.map(({ name, text }) => Buffer.byteLength(name + (text ?? "")));
      assert.ok(bytes.reduce((sum, size) => sum + size, 0) <= maxBytes);
      const names = read.map(({ name }) => name);
      assert.deepEqual(
        fitted.map(({ name }) => name),
        names.slice(0, fitted.length),
      );
      for (const { name, text } of fitted)
        if (text !== null) assert.equal(text, read.find((one) => one.name === name)?.text);
    }),
  );
});
