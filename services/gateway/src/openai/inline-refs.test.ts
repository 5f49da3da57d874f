import assert from "node:assert/strict";
import { test } from "node:test";
import { inlineRefs } from "./inline-refs.ts";

const step = { type: "object", properties: { output: { type: "string" } }, required: ["output"] };

test("a nested model as Pydantic and zod write it becomes one schema without references", () => {
  for (const group of ["$defs", "definitions"]) {
    const steps = { type: "array", items: { $ref: `#/${group}/Step`, description: "One step" } };
    const written = { type: "object", properties: { steps }, [group]: { Step: step } };
    assert.deepEqual(inlineRefs(written), {
      type: "object",
      properties: { steps: { type: "array", items: { ...step, description: "One step" } } },
    });
  }
});

test("a schema that is a reference, or one to a reference, becomes what is meant", () => {
  const $defs = { a: { $ref: "#/$defs/b" }, b: step };
  assert.deepEqual(inlineRefs({ $ref: "#/$defs/a", title: "A", $defs }), { ...step, title: "A" });
});

test("what refers to itself, to elsewhere, to nothing, or would become very large stays as it is", () => {
  const doubled = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, { properties: { a: next, b: next } }];
    }),
  );
  for (const schema of [
    { $ref: "#" },
    { $ref: "https://example.com/schema.json" },
    { $ref: "#/$defs/missing" },
    { $ref: "#/$defs/__proto__", $defs: {} },
    { $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } },
    { $ref: "#/$defs/d0", $defs: { ...doubled, d20: {} } },
  ])
    assert.equal(inlineRefs(schema), schema);
});
