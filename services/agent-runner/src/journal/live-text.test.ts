import assert from "node:assert/strict";
import { test } from "node:test";
import { redactText } from "@switchyard/service/redact";
import fc from "fast-check";
import { LiveText } from "./live-text.ts";

const KEY = ["sk", "proj", "q7Rw2Lx9Tb4Zk8Vm".repeat(3)].join("-");
const JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJyZXNlYXJjaGVyIn0.c2lnbmF0dXJl";
const PEM = [
  ["-----BEGIN", "PRIVATE", "KEY-----"].join(" "),
  ...Array.from({ length: 4 }, () => "q3Q+/4zz".repeat(8)),
  ["-----END", "PRIVATE", "KEY-----"].join(" "),
].join("\n");

/** The live messages for a text that comes in these pieces. */
function reported(pieces: readonly string[], { isEnded = true } = {}): string {
  let text = "";
  const live = new LiveText((step, delta) => {
    assert.equal(step, 1);
    text += delta;
  });
  for (const piece of pieces) live.add(1, piece);
  if (isEnded) live.end(1);
  return text;
}

test("publishes the whole text, however it is split, without its secrets", () => {
  const secrets = [
    `use ${KEY} now`,
    `Bearer ${JWT}`,
    PEM,
    "redis://u:hunter2x@host",
    "aws_session_token = abcdEFGH12345678",
  ];
  const words = fc.oneof(
    fc.constantFrom(...secrets),
    fc.stringMatching(/^[a-z]{1,8}$/),
    fc.constantFrom("\n", '"', "答え", "ä", "-----BEGIN"),
  );
  fc.assert(
    fc.property(
      fc.array(words, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
      (said, sizes) => {
        const text = said.join(" ");
        const pieces: string[] = [];
        for (let at = 0, turn = 0; at < text.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          pieces.push(text.slice(at, at + size));
          at += size;
        }
        assert.equal(reported(pieces), redactText(text));
      },
    ),
  );
});

test("publishes all but the last words at once", () => {
  const text = "The quick brown fox jumps over the lazy dog";
  assert.equal(reported([text], { isEnded: false }), "The quick brown fox jumps ");
});

test("marks a step whose text exceeds what is published live", () => {
  const text = reported(Array.from({ length: 10_000 }, () => `word ${KEY.slice(0, 2)} `));
  assert.ok(text.length < 17_000);
  assert.match(text, /\n\[live output truncated\]$/);
  assert.match(reported(["x".repeat(100_000)]), /^\n\[live output truncated\]$/);
});

test("starts over with each step, and when a step is restarted", () => {
  const received: string[] = [];
  const live = new LiveText((step, delta) => received.push(`${step}:${delta}`));
  live.add(1, "one two");
  live.reset(1);
  live.add(1, "again");
  live.end(1);
  live.add(2, "next");
  live.end(2);
  assert.deepEqual(received, ["1:again", "2:next"]);
});

test("needs time in proportion to the text, whatever the text is", () => {
  for (const piece of ["x", " ", "-----BEGIN ", "eyJ-", "a ", "Bearer "]) {
    // Processor time is measured: on a busy machine the elapsed time proves nothing.
    const before = process.threadCpuUsage();
    reported(Array.from({ length: 20_000 }, () => piece));
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(user + system < 5_000_000, piece);
  }
});
