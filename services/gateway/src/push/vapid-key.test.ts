import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { deriveVapidKey } from "./vapid-key.ts";

const SECRET = Buffer.alloc(32, 7);
const NOW = Date.parse("2030-01-01T00:00:00Z");

test("every replica derives the same key from a secret, and another one from another secret", () => {
  const one = deriveVapidKey(SECRET, "https://yard.example");
  assert.equal(one.publicKey, deriveVapidKey(SECRET, "mailto:ops@yard.example").publicKey);
  // Pinned: with another derivation every browser would have to subscribe anew.
  assert.equal(one.publicKey, PINNED);
  assert.notEqual(
    one.publicKey,
    deriveVapidKey(Buffer.alloc(32, 8), "https://yard.example").publicKey,
  );
});

test("a token is for the origin of the push service alone, and ends within a day", () => {
  const key = deriveVapidKey(SECRET, "https://yard.example");
  const header = key.authorization(new URL("https://fcm.googleapis.com/fcm/send/abc?x=1"), NOW);
  const [, token = "", k = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(header) ?? [];
  assert.equal(k, key.publicKey);
  const [head = "", claims = "", signature = ""] = token.split(".");
  const parsed = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  assert.deepEqual(parsed(head), { typ: "JWT", alg: "ES256" });
  assert.deepEqual(parsed(claims), {
    aud: "https://fcm.googleapis.com",
    exp: NOW / 1_000 + 12 * 3_600,
    sub: "https://yard.example",
  });
  const point = Buffer.from(k, "base64url");
  const x = point.subarray(1, 33).toString("base64url");
  const y = point.subarray(33).toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
  const signed = Buffer.from(`${head}.${claims}`);
  const by = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  assert.ok(verify("sha256", signed, by, Buffer.from(signature, "base64url")));
});

const PINNED =
  "BHY6Xu0Cz-vM5zYGTUQwAIJUVfjB4QPg5KZpjmNhPdFBQg6uPGNd-g26jUnXdbGwYsqmxrdHYWo8jkagBXL9SbI";
