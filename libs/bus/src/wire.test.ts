import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import {
  decodeReply,
  encodeFailure,
  encodeJson,
  encodeValue,
  isLargerThan,
  parseJson,
  problemsOf,
} from "./wire.ts";

test("a value survives the way over the wire", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const expected: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(decodeReply(encodeValue(value)), { ok: true, value: expected });
    }),
  );
});

test("half of a character is neither sent nor received", () => {
  const half = { "a\ud83d": ["\udc00 b", "😀"] };
  const whole = { "a\ufffd": ["\ufffd b", "😀"] };
  assert.deepEqual(JSON.parse(encodeJson(half)), whole);
  assert.deepEqual(decodeReply(encodeValue(half)), { ok: true, value: whole });
  const failure = { code: "x", message: "a\ud83d", data: half };
  assert.ok(!encodeFailure(failure).includes("ud83d"));
  // Clients in other languages write it so, with the halves of whole pairs as escapes.
  const text = String.raw`{"a\ud83d":["\udc00 b","\ud83d\ude00"]}`;
  assert.deepEqual(parseJson(text), { ok: true, value: whole });
});

test("a failure survives the way over the wire", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.jsonValue(), (code, message, value) => {
      const data: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(decodeReply(encodeFailure({ code, message, data })), {
        ok: false,
        code,
        message,
        data,
      });
    }),
  );
});

test("a reply without a value is a reply", () => {
  assert.deepEqual(decodeReply(encodeValue(undefined)), { ok: true, value: undefined });
});

test("text that is not a reply decodes to null and never throws", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const reply = decodeReply(text);
      assert.ok(reply === null || typeof reply.ok === "boolean");
    }),
  );
  for (const text of [
    "",
    "null",
    "1",
    "[]",
    "{}",
    '{"ok":1}',
    '{"ok":false}',
    '{"ok":false,"code":1,"message":"m"}',
  ]) {
    assert.equal(decodeReply(text), null, text);
  }
});

test("undefined is sent as null, because an empty body is not valid JSON", () => {
  assert.equal(encodeJson(undefined), "null");
});

test("malformed JSON is described by its place and never quoted", () => {
  const parsed = parseJson('{"password":"hunter2",}');
  assert.ok(!parsed.ok);
  assert.match(parsed.problem, /not JSON/);
  assert.doesNotMatch(parsed.problem, /hunter2|password/);
});

test("problems name the path, and unknown keys by name", () => {
  const schema = z.strictObject({ a: z.object({ b: z.array(z.number()) }) });
  const { error } = schema.safeParse({ a: { b: [1, "x"] }, surprise: 1 });
  assert.ok(error);
  const problems = problemsOf(error);
  assert.ok(problems.some((line) => line.startsWith("a.b.1: ")));
  assert.ok(problems.some((line) => line.startsWith("(root): ") && line.includes("surprise")));
});

test("at most twenty problems are named", () => {
  const { error } = z.array(z.number()).safeParse(Array.from({ length: 100 }, () => "x"));
  assert.ok(error);
  assert.equal(problemsOf(error).length, 20);
});

test("the size of a text is its size as UTF-8", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(200), (text, limit) => {
      assert.equal(isLargerThan(text, limit), new TextEncoder().encode(text).length > limit);
    }),
  );
});
