import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { withCacheMarks } from "../core/cache-marks.ts";
import { userContent } from "../core/file-content.ts";
import { fillFiles } from "./fill-files.ts";

const stored = new Map<string, Buffer>();

function fileOf(
  name: string,
  mediaType: string,
  bytes: Buffer,
  sizeBytes = bytes.length,
): FilePart {
  const ref = `file-${name}`;
  stored.set(ref, bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { type: "file", ref, name, mediaType, sizeBytes, sha256 };
}

const image = fileOf("a.png", "image/png", Buffer.from("image"));
const files = { read: (file: FilePart) => Promise.resolve(stored.get(file.ref) ?? null) };

interface Part {
  readonly type: string;
  readonly text?: string;
}

/** The parts of a message with these files, as a model gets them. */
async function filled(given: readonly FilePart[], accepts: readonly string[]): Promise<Part[]> {
  const messages = [{ role: "user" as const, content: userContent("look", given) }];
  const [message] = await fillFiles(messages, { accepts, files });
  assert.ok(Array.isArray(message?.content));
  return message.content;
}

test("a model gets the bytes of what it accepts, and of anything else a text with name, type and size", async () => {
  for (const accepts of [["image/*"], ["image/png"]]) {
    const [text, part] = await filled([image], accepts);
    assert.deepEqual(text, { type: "text", text: "look" });
    assert.deepEqual(part, {
      type: "file",
      data: Buffer.from("image"),
      mediaType: "image/png",
      filename: "a.png",
    });
  }
  const [, note] = await filled([image], ["application/pdf"]);
  assert.match(
    note?.text ?? "",
    /^\[file a\.png, image\/png, 5 bytes\]: this model does not accept/,
  );
});

test("a text file is text for every model, and its end is marked", async () => {
  const notes = fileOf("n.md", "text/markdown", Buffer.from("plugh"));
  const [, part] = await filled([notes], []);
  assert.equal(part?.text, "[file n.md, text/markdown, 5 bytes]\nplugh\n[end of file n.md]");
});

test("a file that is no longer stored becomes a text that reports its absence", async () => {
  const gone = fileOf("gone.png", "image/png", Buffer.from("x"));
  stored.delete(gone.ref);
  const [, note] = await filled([gone], ["image/*"]);
  assert.match(note?.text ?? "", /it is no longer stored/);
});

test("when the files of a request exceed the limit in bytes, the earliest are left out", async () => {
  const large = (name: string) => fileOf(name, "image/png", Buffer.from(name), 9 * 1024 ** 2);
  const messages = ["1", "2", "3"].map((name) => ({
    role: "user" as const,
    content: userContent(name, [large(name)]),
  }));
  const result = await fillFiles(messages, { accepts: ["image/*"], files });
  const kinds = result.map(({ content }) => (content as { type: string }[])[1]?.type);
  assert.deepEqual(kinds, ["text", "file", "file"]);
});

test("a file whose part has a mark of a cache is filled in, and the mark stays", async () => {
  const messages = withCacheMarks([{ role: "user", content: userContent("look", [image]) }], 0);
  const [message] = await fillFiles(messages, { accepts: ["image/*"], files });
  const part = Object(message?.content?.[1]) as { data?: Buffer; providerOptions?: object };
  assert.equal(String(part.data), "image");
  assert.deepEqual(Object.keys(part.providerOptions ?? {}), ["anthropic", "openaiCompatible"]);
});

test("messages without files stay as they are", async () => {
  const messages = [
    { role: "user" as const, content: "a" },
    { role: "assistant" as const, content: "b" },
  ];
  assert.deepEqual(await fillFiles(messages, { accepts: [], files }), messages);
});
