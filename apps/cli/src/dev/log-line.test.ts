import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { clockText, logText, parseLogLine } from "./log-line.ts";

const TIME = "2026-01-02T03:04:05.000Z";

function record(fields: Record<string, unknown>): string {
  return JSON.stringify({
    level: "info",
    time: TIME,
    service: "broker",
    instance: "b1",
    ...fields,
  });
}

test("shows the message and the facts, without what every line has", () => {
  const line = parseLogLine(record({ msg: "server connected", server: "files", tools: 14 }));
  assert.equal(line.kind, "record");
  assert.equal(logText(line), "server connected  server=files tools=14");
});

test("shows the reason of an error and what to do about it", () => {
  const err = { type: "Error", message: "spawn ENOENT", stack: "Error: spawn ENOENT\n    at x" };
  const line = parseLogLine(
    record({ level: "error", msg: "server failed", err, hint: "install it" }),
  );
  assert.equal(logText(line), "server failed: spawn ENOENT → install it");
});

test("quotes values with spaces, and shows objects as JSON", () => {
  const line = parseLogLine(record({ msg: "x", text: "two words", list: [1, 2] }));
  assert.equal(logText(line), 'x  text="two words" list=[1,2]');
});

test("never cuts the reason of a failed start", () => {
  const reason = "a".repeat(1_000);
  const text = logText(parseLogLine(record({ level: "fatal", msg: "no start", reason })));
  assert.ok(text.includes(reason));
});

test("passes through what is not a record of a service", () => {
  const lines = [
    "plain text",
    "{not json",
    '{"a":1}',
    '{"level":30,"time":1,"msg":"numeric level"}',
  ];
  for (const line of lines) assert.deepEqual(parseLogLine(line), { kind: "text", text: line });
});

test("escape sequences of a service do not reach the terminal", () => {
  for (const line of ["\u001B[2J", record({ msg: "\u001B[2J", a: "\u001B]0;x\u0007" })]) {
    assert.ok(!logText(parseLogLine(line)).includes("\u001B"));
  }
});

test("any line of output can be read and shown", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.object().map((o) => record(o as never)),
      ),
      (line) => {
        assert.equal(typeof logText(parseLogLine(line)), "string");
      },
    ),
  );
});

test("shows the time of day with two digits each", () => {
  assert.equal(clockText(new Date(2026, 0, 2, 3, 4, 5)), "03:04:05");
});
