import assert from "node:assert/strict";
import { test } from "node:test";
import { noNeighbours } from "../findings/neighbour-findings.ts";
import { inspectTools } from "./inspect-tools.ts";
import { readListedTool } from "./listed-tool.ts";
import { schemaFindings } from "../findings/schema-findings.ts";

const context = { server: "costly", identity: null, neighbours: noNeighbours, approved: [] };

/** Tools whose schemas are small, and take several slices of time to inspect on any machine. */
function costlyListing(count: number) {
  const patterns = Array.from({ length: 40 }, (_, n) => [`((a{30}){30})${n}`, {}]);
  const tools = Array.from({ length: count }, (_, n) => {
    const inputSchema = { type: "object", patternProperties: Object.fromEntries(patterns) };
    const read = readListedTool({ name: `t${n}`, inputSchema }, n);
    if ("problem" in read) throw new Error(read.problem);
    return read.tool;
  });
  return { tools, problems: [], ttlMs: null };
}

test("other work gets its turn between tools that take long to inspect", async () => {
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const { tools } = await inspectTools(costlyListing(6), context);
  clearImmediate(next);
  assert.equal(tools.length, 6);
  assert.ok(turns >= 5, `${turns} turns`);
});

test("the inspection of a list stops when its caller aborts", async () => {
  const ended = new AbortController();
  const looking = inspectTools(costlyListing(1_000), context, ended.signal);
  ended.abort();
  await assert.rejects(looking, { name: "AbortError" });
});

test("patterns that are refused were read, too, and count for the size of a schema", () => {
  const properties = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [
        `p${n}`,
        { pattern: `(?=a)${"x".repeat(500)}${n}` },
      ]),
    );
  const codes = (count: number): string[] => {
    const schema = { type: "object", properties: properties(count) };
    return schemaFindings("/inputSchema", schema, schema).map(({ code }) => code);
  };
  assert.ok(!codes(20).includes("schema_too_complex"));
  assert.deepEqual(codes(400), ["schema_too_complex"]);
});
