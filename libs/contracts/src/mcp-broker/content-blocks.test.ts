import assert from "node:assert/strict";
import { test } from "node:test";
import { isSpecType } from "@modelcontextprotocol/server";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { cleanContent, knownContent } from "./content-blocks.ts";

const PNG = "iVBORw0KGgo=";
const GOOD = {
  text: { type: "text", text: "hi" },
  image: { type: "image", data: PNG, mimeType: "image/png" },
  audio: { type: "audio", data: "UklG\nRg==", mimeType: "audio/wav" },
  resource: { type: "resource", resource: { uri: "file:///a", text: "inside" } },
  blob: { type: "resource", resource: { uri: "file:///a", blob: PNG } },
  link: { type: "resource_link", uri: "file:///a", name: "a" },
} as const;

test("content in its right form is passed on without a copy", () => {
  const more = {
    annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-02T03:04:05Z" },
    _meta: { a: 1 },
    own: null,
  };
  const content = Object.values(GOOD).map((block) => Object.assign({}, block, more));
  const clean = cleanContent(content);
  assert.equal(clean.content, content);
  assert.deepEqual(clean.findings, []);
});

const REPAIRED: [given: object, pointer: string, becomes: object][] = [
  [{ ...GOOD.text, annotations: null }, "annotations", GOOD.text],
  [{ ...GOOD.text, annotations: [] }, "annotations", GOOD.text],
  [{ ...GOOD.image, _meta: null }, "_meta", GOOD.image],
  [
    { ...GOOD.text, annotations: { priority: 7, audience: ["user"] } },
    "annotations/priority",
    { ...GOOD.text, annotations: { audience: ["user"] } },
  ],
  [
    { ...GOOD.text, annotations: { audience: "user", lastModified: "2026-13-01T00:00:00Z" } },
    "annotations/audience",
    { ...GOOD.text, annotations: {} },
  ],
  [
    { type: "image", data: PNG },
    "mimeType",
    { ...GOOD.image, mimeType: "application/octet-stream" },
  ],
  [
    { type: "resource", resource: { ...GOOD.resource.resource, mimeType: null, _meta: null } },
    "resource/mimeType",
    GOOD.resource,
  ],
  [
    { type: "resource", resource: { ...GOOD.blob.resource, text: null } },
    "resource/text",
    GOOD.blob,
  ],
  [{ type: "resource_link", uri: "u" }, "name", { type: "resource_link", uri: "u", name: "u" }],
  [
    { ...GOOD.link, title: null, description: null, size: "1", icons: [{ src: 1 }] },
    "title",
    GOOD.link,
  ],
];
for (const [given, pointer, becomes] of REPAIRED)
  test(`${JSON.stringify(given)} loses what is wrong and nothing else`, () => {
    const { content, findings } = cleanContent([given]);
    assert.deepEqual(content, [becomes]);
    assert.equal(findings[0]?.pointer, `/content/0/${pointer}`);
  });

test("a block that is not what its type requires is passed on as text, and its neighbours as they are", () => {
  const broken = [
    { type: "text" },
    { type: "image", data: "no base64!", mimeType: "image/png" },
    { type: "audio", mimeType: "audio/wav" },
    { type: "resource", resource: null },
    { type: "resource", resource: { uri: "a" } },
    { type: "resource_link", name: "a" },
    { text: "no type" },
    { type: 7 },
  ];
  for (const block of broken) {
    const { content, findings } = cleanContent([GOOD.text, block, GOOD.image]);
    assert.deepEqual(content, [
      GOOD.text,
      { type: "text", text: JSON.stringify(block) },
      GOOD.image,
    ]);
    assert.equal(findings.at(-1)?.pointer, "/content/1");
  }
});

test("a type that MCP does not define is kept, and is a text for clients that would refuse the result", () => {
  const content = [GOOD.text, { type: "hologram", at: 3, annotations: null }];
  assert.deepEqual(cleanContent(content).content, [GOOD.text, { type: "hologram", at: 3 }]);
  assert.deepEqual(knownContent(content), [
    GOOD.text,
    { type: "text", text: '{"type":"hologram","at":3}' },
  ]);
});

test("both official SDKs take whatever content a server has sent", () => {
  const type = fc.constantFrom("text", "image", "audio", "resource", "resource_link", "other", 1);
  const value = fc.oneof(
    fc.constantFrom(null, PNG, "x", "=", {}, { uri: "a", text: "b" }, ["user"], { priority: 2 }),
    fc.json().map((text): unknown => JSON.parse(text)),
  );
  const names = [
    "text",
    "data",
    "mimeType",
    "resource",
    "uri",
    "name",
    "annotations",
    "_meta",
    "icons",
    "size",
  ];
  const members = Object.fromEntries(names.map((name) => [name, value]));
  const block = fc.record({ type, ...members }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.oneof(value, fc.array(fc.oneof(block, value))), (raw) => {
      const result = { content: knownContent(raw) };
      assert.ok(isSpecType.CallToolResult(result), JSON.stringify(result));
      assert.ok(CallToolResultSchema.safeParse(result).success, JSON.stringify(result));
    }),
    { numRuns: 500 },
  );
});

// A pattern that looks at blanks again and again would take hours here.
test("a megabyte of blanks in the place of base64 is not base64", () => {
  const data = `A${" ".repeat(1_000_000)}!`;
  assert.equal(cleanContent([{ type: "image", data, mimeType: "a/b" }]).findings.length, 1);
});
