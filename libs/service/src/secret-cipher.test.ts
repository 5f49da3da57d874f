import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createSecretCipher, readCipherKeys, SealError } from "./secret-cipher.ts";

const key = (): string => randomBytes(32).toString("base64");

function cipher(text: string) {
  const made = createSecretCipher(readCipherKeys(text));
  assert.ok(made);
  return made;
}

test("a sealed text opens again, reveals nothing of its content, and never looks the same twice", () => {
  const { seal, open } = cipher(key());
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), fc.string(), (text, context) => {
      const sealed = seal(text, context);
      assert.equal(open(sealed, context), text);
      assert.ok(!sealed.includes(text));
      assert.notEqual(seal(text, context), sealed);
    }),
  );
});

/** The same with the first four bytes of its tag. */
function shortTag(sealed: string): string {
  const parts = sealed.split(".");
  parts[3] = Buffer.from(parts[3] ?? "", "base64url")
    .subarray(0, 4)
    .toString("base64url");
  return parts.join(".");
}

test("a text in another context, a changed one and one of another key do not open", () => {
  const { seal, open } = cipher(key());
  const sealed = seal("token", "server-a");
  for (const [opened, context, reason] of [
    [sealed, "server-b", "changed"],
    [`${sealed.slice(0, -3)}AAA`, "server-a", "changed"],
    [shortTag(sealed), "server-a", "changed"],
    [cipher(key()).seal("token", "server-a"), "server-a", "unknown_key"],
    ["rubbish", "server-a", "unknown_key"],
  ] as const)
    assert.throws(
      () => open(opened, context),
      (error) => error instanceof SealError && error.reason === reason,
    );
});

test("a new key in front seals, and the old one behind it still opens", () => {
  const [old, fresh] = [key(), key()];
  const sealed = cipher(old).seal("token", "a");
  const both = cipher(`${fresh}, ${old}`);
  assert.equal(both.open(sealed, "a"), "token");
  assert.deepEqual([both.isNewest(sealed), both.isNewest(both.seal("token", "a"))], [false, true]);
  assert.equal(cipher(fresh).open(both.seal("token", "a"), "a"), "token");
});

test("a key of the wrong length is an error that does not show it; no key is no cipher", () => {
  assert.equal(createSecretCipher(readCipherKeys(" , ")), null);
  assert.throws(
    () => readCipherKeys(`${key()},too-short-secret`),
    (error) =>
      error instanceof Error &&
      /key 2 has no 32 bytes/.test(error.message) &&
      !error.message.includes("too-short"),
  );
  assert.equal(readCipherKeys(randomBytes(32).toString("hex")).length, 1);
});
