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

test("a login that no key decrypts names the remedy; without keys there is no cipher", () => {
  const { seal, open } = cipher(key());
  const sealed = seal("token", "server-a");
  assert.throws(() => open(sealed, "server-b"), TokenKeyError);
  assert.throws(() => cipher(key()).open(sealed, "server-a"), /mcp-logins\.key does not have/);
  assert.equal(parseTokenKeys(" , "), null);
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
