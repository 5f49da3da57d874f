import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { auditedArguments, auditedId, auditedValues, readLater } from "./audited-arguments.ts";

const secret = `sk-${"a1".repeat(12)}`;

test("of arguments only names and a digest are recorded, and a name that is a secret is none", () => {
  const args = { path: "a", [`key ${secret}`]: 1, [secret]: 2 };
  const audited = auditedArguments(args);
  assert.equal(audited.argsDigest, canonicalDigest(args));
  assert.deepEqual(audited.argKeys, ["path", "key [redacted]", "[redacted]"]);
  assert.equal(
    auditedArguments(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n]))).argKeys
      .length,
    50,
  );
});

test("read later, arguments are recorded as they are read at once", () => {
  for (const args of [{}, { path: "a", limit: 1, all: null }, { filter: { name: ["a"] } }])
    assert.deepEqual(readLater(args, auditedArguments)(), auditedArguments(args));
});

test("arguments that no digest can be made of fail before the call, not in the record", () => {
  let nested: unknown = 1;
  for (let depth = 0; depth < 200_000; depth += 1) nested = [nested];
  assert.throws(() => readLater({ nested }, auditedArguments), RangeError);
});

test("values that are to be recorded are without secrets, and note when they are not all", () => {
  assert.deepEqual(auditedValues({ path: "a" }), { args: { path: "a" } });
  assert.deepEqual(auditedValues({ apiKey: "x", path: secret }), {
    args: { apiKey: "[redacted]", path: "[redacted]" },
    isArgsChanged: true,
  });
  assert.deepEqual(auditedValues({ text: "x".repeat(20_000) }), { isArgsChanged: true });
});

test("arguments that are nested too deep have no digest, so no call is made with them", () => {
  let deep: Record<string, unknown> = {};
  for (let depth = 0; depth < 100_000; depth += 1) deep = { deep };
  assert.throws(() => auditedArguments(deep), RangeError);
});

test("an id that a client chose is recorded without what looks like a secret", () => {
  const made = "0b9f2a4e-1c2d-4e5f-8a9b-0c1d2e3f4a5b";
  assert.equal(auditedId(made), made);
  assert.equal(auditedId(`order ${secret}`), "order [redacted]");
});
