import assert from "node:assert/strict";
import { test } from "node:test";
import { isSpecType } from "@modelcontextprotocol/server";
import { normalToolResult } from "./tool-result.ts";

const pointersOf = (raw: Record<string, unknown>): string[] =>
  normalToolResult(raw).findings.map(({ pointer }) => pointer);

test("a result passes as it came, with blocks and members that MCP does not define", () => {
  const raw = {
    content: [
      { type: "text", text: "hi", annotations: { priority: 1, more: 2 }, _meta: {} },
      { type: "hologram", at: 3 },
    ],
    structuredContent: { a: 1 },
    isError: true,
    _meta: { own: true },
  };
  const { result, findings } = normalToolResult(raw);
  assert.equal(result, raw);
  assert.deepEqual(findings, []);
});

test("a result without content is an empty one", () => {
  assert.deepEqual(normalToolResult({}).result, { content: [] });
  assert.deepEqual(normalToolResult({ content: null }).result.content, []);
});

test("a result of 2024-10-07, which may be anything, is a text", () => {
  for (const [toolResult, text] of [
    ["words", "words"],
    [{ a: [1] }, '{"a":[1]}'],
    [null, "null"],
    [0, "0"],
  ] as const)
    assert.deepEqual(normalToolResult({ toolResult, _meta: { own: 1 } }).result, {
      content: [{ type: "text", text }],
      _meta: { own: 1 },
    });
  const both = { content: [], toolResult: "kept as it came" };
  assert.equal(normalToolResult(both).result, both);
  const deep: unknown = JSON.parse("[".repeat(20_000) + "]".repeat(20_000));
  assert.equal(normalToolResult({ toolResult: deep }).result.content.length, 1);
});

test("a null beside the content is left out and reported", () => {
  const raw = { content: [], isError: null, _meta: null, structuredContent: null };
  const { result } = normalToolResult(raw);
  assert.deepEqual(result, { content: [], isError: false });
  assert.deepEqual(pointersOf(raw), ["/isError", "/_meta", "/structuredContent"]);
});

test("a failure that is written as something else than true stays a failure", () => {
  for (const isError of ["true", 1, "yes", {}])
    assert.equal(normalToolResult({ content: [], isError }).result.isError, true);
  for (const isError of ["false", 0, "", null])
    assert.equal(normalToolResult({ content: [], isError }).result.isError, false);
});

test("content in a wrong form reaches the caller, and the official SDK takes it", () => {
  for (const content of [
    "text",
    { type: "text", text: "alone" },
    [{ type: "text", text: "a", annotations: null, _meta: null }, { type: "text" }],
    [null, 5, "words", { text: "a" }, [1]],
  ]) {
    const { result, findings } = normalToolResult({ content });
    assert.ok(isSpecType.CallToolResult(result), JSON.stringify(result));
    assert.notDeepEqual(findings, []);
  }
});

test("members that MCP does not define, and the metadata, stay when something else is repaired", () => {
  const raw = { content: null, isError: null, _meta: { own: 1 }, more: [2] };
  const { result } = normalToolResult(raw);
  assert.deepEqual(result, { content: [], isError: false, _meta: { own: 1 }, more: [2] });
});

test("structured content may be any JSON", () => {
  for (const structuredContent of [5, "a", [1], true])
    assert.deepEqual(normalToolResult({ content: [], structuredContent }).result, {
      content: [],
      structuredContent,
    });
});
