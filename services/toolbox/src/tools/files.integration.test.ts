import assert from "node:assert/strict";
import { mkdir, readFile as readBack, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { editFile } from "./edit-file.ts";
import { LIST_LIMIT, listFiles } from "./list-files.ts";
import { READ_LIMIT_BYTES, readFile } from "./read-file.ts";
import { MATCH_LIMIT, searchFiles } from "./search-files.ts";
import { WRITE_LIMIT_BYTES, writeFile } from "./write-file.ts";

const { root, outside, context, put, run } = await testWorkspace();

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

test("read_file cuts at 100 KB between two characters, reports it, and continues from there [E8] [ER9]", async () => {
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

test("read_file explains what is wrong with a path", async () => {
  await put("picture.png", Buffer.from([0x89, 0x50, 0, 1]));
  await assert.rejects(run(readFile, { path: "picture.png" }), /binary file/);
  await assert.rejects(run(readFile, { path: "nowhere.txt" }), /does not exist; list_files/);
  await assert.rejects(run(readFile, { path: "." }), /is a directory; use list_files/);
  await assert.rejects(run(readFile, { path: "hello.txt/x" }), /goes through a file/);
  await assert.rejects(run(readFile, { path: "hello.txt", offset: 9 }), /has 8 bytes/);
});

test("read_file reports a file that is not UTF-8, and reads files without a size", async () => {
  await put("latin1-text.txt", Buffer.from([0x67, 0x72, 0xfc, 0x6e]));
  const latin = await run(readFile, { path: "latin1-text.txt" });
  assert.equal(latin.text, "gr\ufffdn\n[not UTF-8: what could not be read became U+FFFD]");
  await put("half.txt", "ä");
  assert.equal((await run(readFile, { path: "half.txt", offset: 1 })).text, "\ufffd");
  const free = { ...context, workspace: { root, mode: "full-control", hidden: [] } } as const;
  const args = readFile.input.parse({ path: "/proc/self/status" });
  assert.match((await readFile.run(args, free)).text, /^Name:/);
  const behind = readFile.input.parse({ path: "/proc/self/status", offset: 6 });
  assert.doesNotMatch((await readFile.run(behind, free)).text, /^Name:/);
});

test("write_file confirms the bytes it wrote and makes directories [E9]", async () => {
  const { text } = await run(writeFile, { path: "a/b/c.txt", content: "dé" });
  assert.equal(text, "Wrote 3 bytes to a/b/c.txt (new file).");
  assert.equal(await readBack(join(root, "a/b/c.txt"), "utf8"), "dé");
  const again = await run(writeFile, { path: "a/b/c.txt", content: "" });
  assert.equal(again.text, "Wrote 0 bytes to a/b/c.txt.");
});

test("write_file refuses directories and texts that are too large", async () => {
  const content = "x".repeat(WRITE_LIMIT_BYTES + 1);
  await assert.rejects(run(writeFile, { path: "big.txt", content }), /takes up to 10485760/);
  await assert.rejects(run(writeFile, { path: ".", content: "" }), /is a directory/);
  await assert.rejects(run(writeFile, { path: "a/b", content: "" }), /is a directory/);
});

test("edit_file replaces the one occurrence, or all on request", async () => {
  await put("code.ts", "let a = 1;\nlet b = 1;\n");
  await assert.rejects(
    run(editFile, { path: "code.ts", oldText: "1", newText: "2" }),
    /contains oldText 2 times/,
  );
  await assert.rejects(
    run(editFile, { path: "code.ts", oldText: "c = 1", newText: "" }),
    /does not contain oldText/,
  );
  // `$&` would insert the match itself in String.replace.
  const one = await run(editFile, { path: "code.ts", oldText: "a = 1", newText: "a = $&" });
  assert.equal(one.text, "Replaced 1 occurrence in code.ts; it has 23 bytes now.");
  await run(editFile, { path: "code.ts", oldText: "let", newText: "const", replaceAll: true });
  assert.equal(await readBack(join(root, "code.ts"), "utf8"), "const a = $&;\nconst b = 1;\n");
});

test("edits of one file at the same moment all count", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `part-${index}.`);
  await put("parallel.txt", names.join("\n"));
  await Promise.all(
    names.map((name) =>
      run(editFile, { path: "parallel.txt", oldText: name, newText: `${name}done` }),
    ),
  );
  const text = await readBack(join(root, "parallel.txt"), "utf8");
  assert.equal(text, names.map((name) => `${name}done`).join("\n"));
});

test("edit_file counts overlapping texts as several, and reports when only the line ends differ", async () => {
  await put("overlap.txt", "aaa");
  await assert.rejects(
    run(editFile, { path: "overlap.txt", oldText: "aa", newText: "b" }),
    /contains oldText 2 times/,
  );
  await put("windows.txt", "one\r\ntwo\r\n");
  await assert.rejects(
    run(editFile, { path: "windows.txt", oldText: "one\ntwo", newText: "" }),
    /only with \\r\\n at the end of its lines/,
  );
});

test("edit_file refuses a result that no memory would hold, before it makes it", async () => {
  const many = "a".repeat(1_000_000);
  await put("many.txt", many);
  const args = { path: "many.txt", oldText: "a", newText: "b".repeat(10_000), replaceAll: true };
  await assert.rejects(run(editFile, args), /would have 10000000000 bytes/);
  assert.equal(await readBack(join(root, "many.txt"), "utf8"), many);
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

test("a directory that cannot be read is named, and does not end a list or a search", async () => {
  await mkdir(Buffer.concat([Buffer.from(`${root}/odd/`), Buffer.from([0xff])]), {
    recursive: true,
  });
  await put("odd/z.txt", "needle");
  const list = await run(listFiles, { directory: "odd", recursive: true });
  assert.equal(list.text, "z.txt\n\ufffd/\n\ufffd/ (cannot be read)");
  const search = await run(searchFiles, { text: "needle", directory: "odd" });
  assert.match(search.text, /^z\.txt:1: needle\n\[1 passed over/);
  await assert.rejects(run(listFiles, { directory: "odd/z.txt" }), /is not a directory/);
});

test("a cancelled search reads no further file", async () => {
  await put("stopped/a.txt", "");
  await put("stopped/b.txt", "");
  const args = searchFiles.input.parse({ text: "x", directory: "stopped" });
  const signal = AbortSignal.abort(new Error("the caller has gone"));
  await assert.rejects(searchFiles.run(args, { ...context, signal }), /has gone/);
});

test("search_files interprets ** like every tool, and reports when no file matched", async () => {
  await put("globs/top.ts", "x");
  await put("globs/deep/er/in.ts", "x");
  const find = async (files: string) =>
    (await run(searchFiles, { text: "x", directory: "globs", files })).text;
  assert.equal(await find("**/*.ts"), "deep/er/in.ts:1: x\ntop.ts:1: x");
  assert.equal(await find("./deep/**/*.ts"), "deep/er/in.ts:1: x");
  assert.match(await find("*.md"), /\[no file is there whose path fits "\*\.md"\]/);
  await assert.rejects(find("*.{ts,md}"), /no braces/);
});

test("list_files reports when there is more", async () => {
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
    "one.md:2: the Needle here\n[1 passed over: too large, not text, or not to be read]",
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
