import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { parseTokenKeys, TokenKeyError } from "./token-cipher.ts";

const key = (): string => randomBytes(32).toString("base64");

function cipher(setting: string) {
  const parsed = parseTokenKeys(setting);
  assert.ok(parsed);
  return parsed;
}

test("what is sealed opens again, says nothing of its text, and never looks the same twice", () => {
  const { seal, open } = cipher(key());
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), fc.string(), (text, place) => {
      const sealed = seal(text, place);
      assert.equal(open(sealed, place), text);
      assert.ok(!sealed.includes(text));
      assert.notEqual(seal(text, place), sealed);
    }),
  );
});

test("a text in another place, a changed one and one of another key do not open", () => {
  const setting = key();
  const { seal, open } = cipher(setting);
  const sealed = seal("token", "server-a");
  assert.throws(() => open(sealed, "server-b"), TokenKeyError);
  assert.throws(() => open(`${sealed.slice(0, -3)}AAA`, "server-a"), TokenKeyError);
  assert.throws(() => cipher(key()).open(sealed, "server-a"), /YARD_MCP_TOKEN_KEY does not name/);
  assert.throws(() => open("rubbish", "server-a"), TokenKeyError);
});

test("a new key in front seals, and the old one behind it still opens", () => {
  const [old, fresh] = [key(), key()];
  const sealed = cipher(old).seal("token", "a");
  const both = cipher(`${fresh}, ${old}`);
  assert.equal(both.open(sealed, "a"), "token");
  assert.equal(cipher(fresh).open(both.seal("token", "a"), "a"), "token");
});

test("a key of the wrong length is an error that does not show it; no key is none", () => {
  assert.equal(parseTokenKeys(" , "), null);
  assert.throws(
    () => parseTokenKeys(`${key()},too-short-secret`),
    (error) =>
      error instanceof Error &&
      /key 2 has no 32 bytes/.test(error.message) &&
      !error.message.includes("too-short"),
  );
  assert.ok(parseTokenKeys(randomBytes(32).toString("hex")));
});

test("digests of the same key agree, those of another key do not, and none is the plain digest", () => {
  const setting = key();
  const [first, again, other] = [cipher(setting), cipher(`${setting},${key()}`), cipher(key())];
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, unlike) => {
      const digest = first.digest(text);
      assert.equal(again.digest(text), digest);
      assert.notEqual(other.digest(text), digest);
      assert.equal(first.digest(unlike) === digest, unlike === text);
      const plain = createHash("sha256").update(text).digest("hex");
      assert.ok(!digest.includes(plain));
    }),
  );
});
