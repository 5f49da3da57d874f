import assert from "node:assert/strict";
import { test } from "node:test";
import {
  alternativeOf,
  alternativesOf,
  choicesOf,
  freshOf,
  initialOf,
  nameOf,
  plainOf,
  typeOf,
  type FormSchema,
} from "../src/ui/form-schema.ts";

/** The schema that servers generate from Python's models. */
const PYTHON: FormSchema = {
  $defs: {
    Colour: { type: "string", enum: ["red", "blue"], title: "Colour" },
    Place: {
      type: "object",
      title: "Place",
      properties: {
        city: { type: "string" },
        inside: { anyOf: [{ $ref: "#/$defs/Place" }, { type: "null" }], default: null },
      },
      required: ["city"],
    },
  },
  type: "object",
  properties: {
    colour: { $ref: "#/$defs/Colour", default: "blue" },
    place: { $ref: "#/$defs/Place" },
    limit: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], title: "Limit" },
    tint: { allOf: [{ $ref: "#/$defs/Colour" }], description: "of the frame" },
  },
  required: ["place"],
};

test("a schema that names a definition, is one of one, or may be null is what it stands for", () => {
  const of = (name: string): FormSchema => plainOf(PYTHON.properties?.[name] ?? {}, PYTHON);
  assert.deepEqual(
    choicesOf(of("colour"), PYTHON)?.map(({ name }) => name),
    ["red", "blue"],
  );
  assert.equal(of("colour").default, "blue");
  assert.deepEqual([typeOf(of("limit")), of("limit").minimum], ["integer", 1]);
  assert.equal(of("limit").title, "Limit", "what is said beside it counts");
  assert.deepEqual([of("tint").description, of("tint").enum?.length], ["of the frame", 2]);
  assert.equal(typeOf(plainOf({ $ref: "#/$defs/None" }, PYTHON)), undefined, "left to JSON");
  const loop: FormSchema = { $defs: { A: { $ref: "#/$defs/A" } } };
  assert.equal(typeOf(plainOf({ $ref: "#/$defs/A" }, loop)), undefined);
});

test("a form begins with what is needed and with defaults, also of definitions that use themselves", () => {
  assert.deepEqual(initialOf(PYTHON, PYTHON), { colour: "blue", place: { inside: null } });
  assert.deepEqual(freshOf({ $ref: "#/$defs/Place" }, PYTHON), { inside: null });
  assert.deepEqual(
    [
      { type: "string" },
      { type: "integer", minimum: 3 },
      { type: "boolean" },
      { type: "array" },
    ].map((schema) => freshOf(schema, {})),
    ["", 3, false, []],
  );
});

test("of several kinds of value each is an alternative, and an existing value selects its own", () => {
  const schema: FormSchema = {
    oneOf: [
      { type: "string", title: "by name" },
      { type: "array", items: { type: "string" } },
      {
        type: "object",
        properties: { kind: { const: "circle" }, radius: { type: "number" } },
        required: ["kind"],
      },
      { type: "object", properties: { kind: { const: "square" } }, required: ["kind"] },
    ],
  };
  const alternatives = alternativesOf(schema, schema) ?? assert.fail("one kind");
  const values = ["x", ["x"], { kind: "circle" }, { kind: "square" }];
  assert.deepEqual(
    values.map((value) => alternativeOf(value, alternatives)),
    [0, 1, 2, 3],
  );
  assert.deepEqual(alternatives.map(nameOf), ["by name", "array", "circle", "square"]);
  assert.deepEqual(freshOf(alternatives[3] ?? {}, schema), { kind: "square" });
  assert.equal(alternativesOf({ type: "string" }, schema), null);
});

test("values with names are a choice", () => {
  const schema = {
    oneOf: [
      { const: "low", title: "Low" },
      { const: 2, title: "Two" },
    ],
  };
  assert.deepEqual(choicesOf(schema, schema), [
    { value: "low", name: "Low" },
    { value: 2, name: "Two" },
  ]);
  assert.equal(choicesOf({ anyOf: [{ type: "string" }, { const: 1 }] }, {}), null);
});
