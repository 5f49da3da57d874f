import assert from "node:assert/strict";
import { test } from "node:test";
import { parameterHeaderProblem } from "./parameter-headers.ts";

function problem(properties: object, more: object = {}): string | null {
  return parameterHeaderProblem({ type: "object", properties, ...more });
}

const good = { type: "string", "x-mcp-header": "Region" };

test("takes declarations that can be sent, at any depth of properties", () => {
  assert.equal(problem({}), null);
  assert.equal(problem({ region: good, id: { type: "integer", "x-mcp-header": "Id" } }), null);
  assert.equal(problem({ where: { type: "object", properties: { region: good } } }), null);
});

test("names what cannot be sent: names, types, doubles, and places that are not a property", () => {
  const named = (name: unknown) => ({ a: { type: "string", "x-mcp-header": name } });
  for (const name of ["", "two words", "a:b", "a\r\nb", "é", 5])
    assert.match(problem(named(name)) ?? "", /a: x-mcp-header is not a name of a header/);
  for (const type of ["number", "object", "array", "null", undefined])
    assert.match(problem({ a: { type, "x-mcp-header": "A" } }) ?? "", /only for string/);
  assert.match(problem({ a: good, b: { ...good, "x-mcp-header": "REGION" } }) ?? "", /twice/);
  assert.match(problem({ a: { type: "array", items: good } }) ?? "", /only for properties/);
  assert.match(problem({}, { anyOf: [{ properties: { a: good } }] }) ?? "", /only for properties/);
  assert.match(problem({}, { "x-mcp-header": "A" }) ?? "", /the schema: x-mcp-header is only/);
});

test("a schema that is nested without end is refused and not followed", () => {
  let schema: object = { type: "string" };
  for (let depth = 0; depth < 5_000; depth += 1) schema = { properties: { a: schema } };
  assert.match(parameterHeaderProblem(schema) ?? "", /nested too deeply/);
});
