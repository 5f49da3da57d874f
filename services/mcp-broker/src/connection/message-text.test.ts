import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMessage, unbatched } from "./message-text.ts";

const [one, two] = [1, 2].map((id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`);

test("a batch of 2025-03-26 is its messages, each in its place [A5]", () => {
  assert.deepEqual(unbatched([`${two}`, `[${one},${two}]`, "log", `${one}`]), [
    two,
    one,
    two,
    "log",
    one,
  ]);
});

test("an array that is not a batch of messages stays one line, and is not a message", () => {
  const deep = `[{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}]`;
  const long = `[${Array.from({ length: 1_001 }, () => one).join(",")}]`;
  for (const line of ["[1,2]", "[info] ready", `[${one}`, `[[${one}]]`, deep, long]) {
    assert.deepEqual(unbatched([line]), [line]);
    assert.equal(parseMessage(line), null);
  }
});

test("white space and a byte order mark before a message are none of it", () => {
  for (const before of ["", "  ", "\t", "\uFEFF"])
    assert.deepEqual(parseMessage(`${before}${one}\r`), { jsonrpc: "2.0", id: 1, result: {} });
  for (const line of ["", " ", "x {}", "{", "{}", '{"jsonrpc":"1.0"}', "null"])
    assert.equal(parseMessage(line), null);
});
