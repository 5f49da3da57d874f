import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContentBlock } from "@switchyard/contracts/mcp-broker/mcp";
import { resultText } from "./result-text.ts";

const textOf = (...content: ContentBlock[]): string => resultText({ content, isError: false });

test("joins the blocks of a result by newlines [A17]", () => {
  assert.equal(textOf({ type: "text", text: "one" }, { type: "text", text: "two" }), "one\ntwo");
});

const blocks: [ContentBlock, string][] = [
  [
    { type: "image", mimeType: "image/png", data: "aGVsbG8=" },
    "[Image: image/png, 8 bytes base64]",
  ],
  [{ type: "resource", resource: { uri: "file:///a", text: "inside" } }, "inside"],
  [{ type: "resource", resource: { uri: "file:///a", blob: "aGk=" } }, "[Resource: file:///a]"],
  [{ type: "audio", data: "aGk=", mimeType: "audio/wav" }, "[Audio: audio/wav, 4 bytes base64]"],
  [
    { type: "resource_link", uri: "a:b", name: "b", title: "Report", description: "of May" },
    "[Resource link: Report, a:b: of May]",
  ],
  [{ type: "resource_link", uri: "a:b", name: "b" }, "[Resource link: b, a:b]"],
  [{ type: "resource_link", uri: "a:b", name: "a:b" }, "[Resource link: a:b]"],
  [{ type: "hologram" }, "[Unknown content type]"],
  [{ type: "text" }, ""],
  [{ type: "resource" }, "[Resource: ]"],
];
for (const [block, text] of blocks) {
  test(`shows ${JSON.stringify(block)} as ${JSON.stringify(text)} [A17]`, () => {
    assert.equal(textOf(block), text);
  });
}

test("shows an error with its text blocks only [A17, X13]", () => {
  const content = [
    { type: "text", text: "disk full" },
    { type: "image", mimeType: "image/png", data: "" },
    { type: "text", text: "try later" },
  ];
  assert.equal(resultText({ content, isError: true }), "Error: disk full\ntry later");
});

test("shows an empty result as empty text and an empty error as an error [A17]", () => {
  assert.equal(textOf(), "");
  assert.equal(resultText({ content: [], isError: true }), "Error: ");
});

test("shows structured content as its JSON where no text has the same content", () => {
  const shown = (content: ContentBlock[], structuredContent: unknown, isError = false): string =>
    resultText({ content, structuredContent, isError });
  const image = { type: "image", mimeType: "image/png", data: "aGk=" };
  assert.equal(shown([], { answer: 42 }), '{"answer":42}');
  assert.equal(shown([{ type: "text", text: "" }], [1]), "[1]");
  assert.equal(shown([image], { a: 1 }), '[Image: image/png, 4 bytes base64]\n{"a":1}');
  assert.equal(shown([{ type: "text", text: "42" }], { answer: 42 }), "42");
  assert.equal(shown([{ type: "resource", resource: { uri: "a:b", text: "in" } }], {}), "in");
  assert.equal(shown([image], { reason: "full" }, true), 'Error: {"reason":"full"}');
});

test("shows an error without any text with what it has", () => {
  const link = { type: "resource_link", uri: "a:log", name: "log" };
  assert.equal(
    resultText({ content: [link], isError: true }),
    "Error: [Resource link: log, a:log]",
  );
});
