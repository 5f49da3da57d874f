import assert from "node:assert/strict";
import { readFile as readBack, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { editFile } from "./edit-file.ts";
import { LIST_LIMIT, listFiles } from "./list-files.ts";
import { READ_LIMIT_BYTES, readFile } from "./read-file.ts";
import { MATCH_LIMIT, searchFiles } from "./search-files.ts";
import { WRITE_LIMIT_BYTES, writeFile } from "./write-file.ts";

const { root, outside, put, run } = await testWorkspace();

test("read_file returns the text of a file [E8]", async () => {
  await put("hello.txt", "Grüße\n");
  const { text, structured } = await run(readFile, { path: "hello.txt" });
  assert.equal(text, "Grüße\n");
  assert.deepEqual(structured, {
    path: "hello.txt",
    content: "Grüße\n",
    bytes: 8,
    size: 8,
    truncated: false,
  });
});

test("read_file cuts at 100 KB between two characters, says so, and reads on from there [E8] [ER9]", async () => {
  const whole = "ä".repeat(READ_LIMIT_BYTES) + "end";
  await put("long.txt", `x${whole}`);
  const first = await run(readFile, { path: "long.txt" });
  assert.equal(first.structured["truncated"], true);
  assert.equal(first.structured["bytes"], READ_LIMIT_BYTES - 1);
  assert.match(
    first.text,
    /\[truncated: bytes 0 to 102399 of 204804; read on with offset 102399\]$/,
  );
  let read = "";
  for (let offset = 0; ;) {
    const { structured } = await run(readFile, { path: "long.txt", offset });
    read += structured["content"];
    offset += Number(structured["bytes"]);
    if (structured["truncated"] === false) break;
  }
  assert.equal(read, `x${whole}`);
});

test("read_file says what is wrong with a path", async () => {
  await put("picture.png", Buffer.from([0x89, 0x50, 0, 1]));
  await assert.rejects(run(readFile, { path: "picture.png" }), /binary file/);
  await assert.rejects(run(readFile, { path: "nowhere.txt" }), /does not exist; list_files/);
  await assert.rejects(run(readFile, { path: "." }), /is a directory; use list_files/);
  await assert.rejects(run(readFile, { path: "hello.txt/x" }), /goes through a file/);
  await assert.rejects(run(readFile, { path: "hello.txt", offset: 9 }), /has 8 bytes/);
});

test("write_file confirms the bytes it wrote and makes directories [E9]", async () => {
  const { text } = await run(writeFile, { path: "a/b/c.txt", content: "dé" });
  assert.equal(text, "Wrote 3 bytes to a/b/c.txt (new file).");
  assert.equal(await readBack(join(root, "a/b/c.txt"), "utf8"), "dé");
  const again = await run(writeFile, { path: "a/b/c.txt", content: "" });
  assert.equal(again.text, "Wrote 0 bytes to a/b/c.txt.");
});

test("write_file refuses what is too large, and directories", async () => {
  const content = "x".repeat(WRITE_LIMIT_BYTES + 1);
  await assert.rejects(run(writeFile, { path: "big.txt", content }), /takes up to 10485760/);
  await assert.rejects(run(writeFile, { path: ".", content: "" }), /is a directory/);
  await assert.rejects(run(writeFile, { path: "a/b", content: "" }), /is a directory/);
});

test("edit_file replaces the one occurrence, or all when told to", async () => {
  await put("code.ts", "let a = 1;\nlet b = 1;\n");
  await assert.rejects(
    run(editFile, { path: "code.ts", oldText: "1", newText: "2" }),
    /contains oldText 2 times/,
  );
  await assert.rejects(
    run(editFile, { path: "code.ts", oldText: "c = 1", newText: "" }),
    /does not contain oldText/,
  );
  // `$&` would mean the match itself to String.replace.
  const one = await run(editFile, { path: "code.ts", oldText: "a = 1", newText: "a = $&" });
  assert.equal(one.text, "Replaced 1 occurrence in code.ts; it has 23 bytes now.");
  await run(editFile, { path: "code.ts", oldText: "let", newText: "const", replaceAll: true });
  assert.equal(await readBack(join(root, "code.ts"), "utf8"), "const a = $&;\nconst b = 1;\n");
});

test("edit_file leaves a file alone that is not UTF-8", async () => {
  const bytes = Buffer.from([0x61, 0xff, 0x62]);
  await put("latin1.txt", bytes);
  await assert.rejects(
    run(editFile, { path: "latin1.txt", oldText: "a", newText: "b" }),
    /is not UTF-8/,
  );
  assert.deepEqual(await readBack(join(root, "latin1.txt")), bytes);
});

test("list_files lists in order, marks directories and links, and follows none [E10]", async () => {
  await put("tree/b.txt", "");
  await put("tree/a/deep.txt", "");
  await put("tree/node_modules/x/index.js", "");
  await symlink(outside, join(root, "tree/link"));
  const flat = await run(listFiles, { directory: "tree" });
  assert.equal(flat.text, "a/\nb.txt\nlink@\nnode_modules/");
  const deep = await run(listFiles, { directory: "tree", recursive: true });
  assert.equal(deep.text, "a/\na/deep.txt\nb.txt\nlink@\nnode_modules/");
  await assert.rejects(run(listFiles, { directory: "tree/link" }), /outside the allowed workspace/);
});

test("list_files says when there is more", async () => {
  for (let index = 0; index <= LIST_LIMIT; index += 1) await put(`many/${index}`, "");
  const { text, structured } = await run(listFiles, { directory: "many" });
  assert.equal(structured["truncated"], true);
  assert.match(text, /\[truncated: only the first 2000 entries\]$/);
});

test("search_files names the lines that contain a text", async () => {
  await put("found/one.md", "first\r\nthe Needle here\r\n");
  await put("found/two.ts", "needle");
  await put("found/binary", Buffer.from("needle\0"));
  await symlink(join(outside, "secret.txt"), join(root, "found/link"));
  const exact = await run(searchFiles, { text: "Needle", directory: "found" });
  assert.equal(
    exact.text,
    "one.md:2: the Needle here\n[1 files passed over: too large, or not text]",
  );
  const all = await run(searchFiles, {
    text: "NEEDLE",
    directory: "found",
    files: "*.ts",
    ignoreCase: true,
  });
  assert.equal(all.text, "two.ts:1: needle");
  const none = await run(searchFiles, { text: "secret", directory: "found", files: "*.md" });
  assert.equal(none.text, 'No line contains "secret".');
});

test("search_files stops at its limit and cuts long lines", async () => {
  await put("wide/a.txt", `${"y".repeat(1_000)}\n`.repeat(MATCH_LIMIT + 5));
  const { text, structured } = await run(searchFiles, { text: "y", directory: "wide" });
  assert.equal(structured["truncated"], true);
  assert.match(text, /^a\.txt:1: y{300}…\n/);
  assert.match(text, /\[truncated: more than 200 lines or 10000 files\]$/);
});
