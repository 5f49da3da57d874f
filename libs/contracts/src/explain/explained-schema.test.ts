import assert from "node:assert/strict";
import { test } from "node:test";
import type { z } from "zod";
import { STANDARD_CODES } from "../errors.ts";
import { allContracts, isRpc } from "../registry.ts";
import { descriptionFiles } from "./descriptions.ts";
import { errorTexts } from "./error-texts.ts";
import { exampleOf, messageExample } from "./example-of.ts";
import { explainedSchema, type ExplainedProperty } from "./explained-schema.ts";

interface Part {
  readonly place: string;
  readonly schema: z.ZodType;
  readonly io: "input" | "output";
}

const parts: readonly Part[] = allContracts.flatMap((contract): Part[] => {
  if (contract.kind !== "rpc")
    return [
      {
        place: contract.name,
        schema: contract.payload,
        io: contract.kind === "command" ? "input" : "output",
      },
    ];
  return [
    { place: `${contract.name}.request`, schema: contract.request, io: "input" },
    { place: `${contract.name}.reply`, schema: contract.reply, io: "output" },
    ...Object.entries(contract.errors).map(([place, { data }]): Part => ({
      place,
      schema: data,
      io: "output",
    })),
  ];
});

test("every property of every contract has a description, and an example that fits its schema", () => {
  for (const property of properties()) {
    const { place, schema, json } = property;
    assert.ok(
      typeof json["description"] === "string",
      `${place} has no description in explain/texts`,
    );
    const [example] = (json["examples"] ?? []) as unknown[];
    if (example === undefined)
      assert.notEqual(exampleOf(json), undefined, `${place} has no example in explain/examples.ts`);
    else assert.ok(schema.safeParse(example).success, `${place}: ${JSON.stringify(example)}`);
  }
});

test("the example of every message fits the schema of its contract", () => {
  for (const { place, schema, io } of parts) {
    const json = explainedSchema(schema, { io, place });
    // The place of an error's data is its code, which may be the name of a property, too.
    const example = place.includes(".") ? messageExample(json, { place }) : exampleOf(json);
    const result = schema.safeParse(example);
    assert.ok(result.success, `${place}: ${JSON.stringify(example)} ${result.error?.message}`);
  }
});

test("every error of a contract and every standard error is explained", () => {
  const codes = allContracts.filter(isRpc).flatMap(({ errors }) => Object.keys(errors));
  for (const code of [...STANDARD_CODES, ...codes]) assert.ok(errorTexts[code], code);
});

test("no description is written twice", () => {
  const keys = descriptionFiles.flatMap((file) => Object.keys(file));
  assert.deepEqual(
    keys.filter((key, index) => keys.indexOf(key) !== index),
    [],
  );
});

/** All properties of all contracts, with what is put into the documents for them. */
function properties(): ExplainedProperty[] {
  const found: ExplainedProperty[] = [];
  for (const { place, schema, io } of parts)
    explainedSchema(schema, { io, place, visit: (property) => found.push(property) });
  return found;
}
