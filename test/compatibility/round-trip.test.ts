import assert from "node:assert/strict";
import { test } from "node:test";
import { allContracts } from "@switchyard/contracts/registry";
import { z } from "zod";
import { sampleOf, type JsonSchema } from "../lib/sample-request.ts";

const SCHEMAS: readonly (readonly [string, z.ZodType])[] = allContracts.flatMap((contract) =>
  contract.kind === "rpc"
    ? [
        [`${contract.name} request`, contract.request] as const,
        [`${contract.name} reply`, contract.reply] as const,
      ]
    : [[contract.name, contract.payload] as const],
);

/** A value with all optional properties; undefined where rules beside the JSON Schema refuse it. */
function fullValue(schema: z.ZodType): unknown {
  const json = z.toJSONSchema(schema, { io: "input" }) as JsonSchema; // its own kind of JSON Schema
  const read = schema.safeParse(sampleOf(json, { defs: json.$defs ?? {}, isFull: true }));
  return read.success ? read.data : undefined;
}

test("what a message says is the same after it was sent, for every contract [D64]", () => {
  const values = SCHEMAS.map(([name, schema]) => ({ name, schema, value: fullValue(schema) }));
  const usable = values.filter(({ value }) => value !== undefined);
  for (const { name, schema, value } of usable)
    assert.deepEqual(schema.parse(JSON.parse(JSON.stringify(value))), value, name);
  assert.ok(usable.length > SCHEMAS.length * 0.75, `${usable.length} of ${SCHEMAS.length}`);
});
