import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessageText } from "./message-text.ts";

const [one, two] = [1, 2].map((id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`);
const valuesOf = (text: string): unknown => {
  const read = readMessageText(text);
  return read === null || "problem" in read ? read : read.values;
};

test("a batch of 2025-03-26 is its messages in their order", () => {
  for (const before of ["", "\uFEFF", "  \t"])
    assert.deepEqual(valuesOf(`${before}[${two},${one}]\r`), [
      { jsonrpc: "2.0", id: 2, result: {} },
      { jsonrpc: "2.0", id: 1, result: {} },
    ]);
});

test("an array that is not a batch of messages is no message", () => {
  const long = `[${Array.from({ length: 1_001 }, () => one).join(",")}]`;
  for (const line of ["[1,2]", "[info] ready", `[${one}`, `[[${one}]]`, long])
    assert.equal(readMessageText(line), null, line.slice(0, 40));
});

test("white space and a byte order mark before a message do not matter", () => {
  for (const before of ["", "  ", "\t", "\uFEFF"])
    assert.deepEqual(valuesOf(`${before}${one}\r`), [{ jsonrpc: "2.0", id: 1, result: {} }]);
  for (const line of ["", " ", "x {}", "{", "null", "NaN"])
    assert.equal(readMessageText(line), null);
});

test("a text with NaN or Infinity is reported as such, and stays readable enough to name its request", () => {
  for (const token of ["NaN", "Infinity", "-Infinity"]) {
    const read = readMessageText(
      `{"jsonrpc":"2.0","id":7,"result":{"a":${token},"b":"NaN \\" x"}}`,
    );
    assert.ok(read !== null && "problem" in read, token);
    assert.match(read.problem, /NaN or Infinity/);
    assert.deepEqual(read.readable, { jsonrpc: "2.0", id: 7, result: { a: null, b: 'NaN " x' } });
  }
  assert.equal(readMessageText(`{"level":"info","ratio":NaN`), null);
});

test("an integer beyond 2^53 keeps its digits, as text, and is reported", () => {
  const read = readMessageText(
    `{"a":1915883588174806058,"b":[-9007199254740993],"c":9007199254740991,"d":1234567890123456.5,"e":"1915883588174806058","f":1e300}`,
  );
  assert.ok(read !== null && "values" in read);
  assert.deepEqual(read.values, [
    {
      a: "1915883588174806058",
      b: ["-9007199254740993"],
      c: 9_007_199_254_740_991,
      d: 1_234_567_890_123_456.5,
      e: "1915883588174806058",
      f: 1e300,
    },
  ]);
  assert.deepEqual(read.findings, ["2 integers beyond 2^53 are passed on as text"]);
});

test("however deeply a message with a long integer is nested, it is read", () => {
  const deep = `{"id":1234567890123456789,"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  assert.notEqual(readMessageText(deep), null);
});
