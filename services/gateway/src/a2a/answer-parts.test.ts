import assert from "node:assert/strict";
import { test } from "node:test";
import { Part } from "@a2a-js/sdk";
import { partsOfAnswer } from "./answer-parts.ts";

const written = (answer: string, isPlain = false) =>
  partsOfAnswer(answer, isPlain).map((part) => Part.toJSON(part));

test("an answer in JSON is data, and any other one is text", () => {
  assert.deepEqual(written('{"key":"value"}'), [
    { data: { key: "value" }, mediaType: "application/json" },
  ]);
  assert.deepEqual(written(" [1, 2]\n"), [{ data: [1, 2], mediaType: "application/json" }]);
  for (const text of ["hello", "42", '"hello"', "[see below] this", "{{name}}", ""])
    assert.deepEqual(written(text), [{ text, mediaType: "text/plain" }]);
});

test("a client that accepts no JSON gets the text", () => {
  const text = '{"parts":[{"url":"https://example.com/a"}]}';
  assert.deepEqual(written(text, true), [{ text, mediaType: "text/plain" }]);
});

test("parts in the protocol's form are passed on as parts", () => {
  const parts = [
    { text: "Two files:", mediaType: "text/plain" },
    { raw: "aGVsbG8=", filename: "a.txt", mediaType: "text/plain" },
    { url: "https://example.com/b.png", filename: "b.png", mediaType: "image/png" },
    { data: { key: "value", count: 42 }, mediaType: "application/json", metadata: { of: "b" } },
  ];
  assert.deepEqual(written(JSON.stringify({ parts })), parts);
});

test("an object without a valid list of parts is passed on as data", () => {
  for (const value of [
    { parts: [] },
    { parts: [{ text: "a", url: "https://example.com" }] },
    { parts: [{ url: "javascript:alert(1)" }] },
    { parts: [{ url: "file:///etc/passwd" }] },
    { parts: [{ raw: "not base64!" }] },
    { parts: [{ text: "a" }], more: 1 },
  ])
    assert.deepEqual(written(JSON.stringify(value)), [
      { data: value, mediaType: "application/json" },
    ]);
});
