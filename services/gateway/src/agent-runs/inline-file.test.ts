import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOfDataUrl, inlineFile } from "./inline-file.ts";

test("a data URL in base64 is a file, and no other URL is", () => {
  const bytes = Buffer.from("hi");
  const mediaType = "image/png";
  assert.deepEqual(fileOfDataUrl("data:image/png;base64,aGk="), {
    bytes,
    name: "image",
    mediaType,
  });
  assert.deepEqual(fileOfDataUrl("data:image/png;name=x;base64,aGk", "x.png"), {
    bytes,
    name: "x.png",
    mediaType,
  });
  for (const url of [
    "https://example.com/a.png",
    "data:image/png,hi",
    "data:;base64,",
    "file:///a",
    "data:a/b;base64,%%",
  ])
    assert.equal(fileOfDataUrl(url), null, url);
});

test("a file is called by the last part of its name, without control characters", () => {
  const nameOf = (name: string) => {
    const piece = inlineFile("aGk=", { name, mediaType: undefined });
    return piece !== null && "name" in piece ? piece.name : null;
  };
  assert.equal(nameOf("../../etc/passwd"), "passwd");
  assert.equal(nameOf("C:\\files\\a.png"), "a.png");
  assert.equal(nameOf("a\u0000\nb.png"), "ab.png");
  assert.equal(nameOf(""), "file");
  assert.equal(nameOf("x".repeat(1_000))?.length, 127);
});
