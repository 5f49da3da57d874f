import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import {
  RUN_TOKEN_AUDIENCE,
  RUN_TOKEN_ISSUER,
  type RunTokenClaims,
} from "@switchyard/contracts/policy/run-token";
import fc from "fast-check";
import { CompactSign, importJWK } from "jose";
import {
  createRunTokenKey,
  createRunTokenSigner,
  createRunTokenVerifier,
  keyIdOf,
  KnownRunTokens,
  RunTokenError,
  runTokenKeyId,
  type RunTokenFault,
} from "./run-token.ts";

const NOW_MS = 1_800_000_000_000;
const NOW = NOW_MS / 1000;
const CLAIMS: RunTokenClaims = {
  iss: RUN_TOKEN_ISSUER,
  aud: RUN_TOKEN_AUDIENCE,
  sub: "researcher",
  run: "01JD3Q4Z9VQ8ABCDEFGHJKMNPQ",
  requester: "team-a",
  tools: [["mcp__github__*"], ["read_file"]],
  iat: NOW,
  exp: NOW + 600,
};

const key = await createRunTokenKey();
const otherKey = await createRunTokenKey();
const sign = await createRunTokenSigner(key.privateJwk);
const now = () => NOW_MS;
const verify = await createRunTokenVerifier(key.publicJwk, { now });
const token = await sign(CLAIMS);

test("returns the claims that were signed", async () => {
  assert.deepEqual(await verify(token), CLAIMS);
});

test("returns claims that one user of the token cannot change for the next", async () => {
  const claims = await verify(token);
  assert.throws(() => claims.tools.push(["*"]), TypeError);
  assert.throws(() => claims.tools[0]?.push("*"), TypeError);
  assert.throws(() => Object.assign(claims, { sub: "admin" }), TypeError);
});

test("refuses a token with any character changed, removed or added", async () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
  const place = fc.integer({ min: 0, max: token.length - 1 });
  const character = fc.constantFrom(...alphabet.split(""));
  await fc.assert(
    fc.asyncProperty(
      place,
      character,
      fc.constantFrom("change", "remove", "add"),
      async (at, put, how) => {
        const before = token.slice(0, at);
        const rest = token.slice(at + 1);
        const kept = token.charAt(at);
        const tampered = {
          change: before + put + rest,
          remove: before + rest,
          add: before + put + kept + rest,
        }[how];
        fc.pre(tampered !== token);
        await assert.rejects(verify(tampered), RunTokenError);
      },
    ),
    { numRuns: 500 },
  );
});

test("refuses every other spelling of the last character, whose spare bits decoders ignore", async () => {
  for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
    const other = token.slice(0, -1) + last;
    if (other !== token) await assert.rejects(verify(other), RunTokenError, last);
  }
});

test("refuses what is not a token at all", async () => {
  for (const text of ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", "…", "x".repeat(10_000)]) {
    assert.equal(await reasonOf(text), "malformed", text);
  }
  await fc.assert(
    fc.asyncProperty(fc.string(), async (text) => {
      await assert.rejects(verify(text), RunTokenError);
    }),
  );
});

test("refuses a token that another key signed", async () => {
  const signOther = await createRunTokenSigner(otherKey.privateJwk);
  assert.equal(await reasonOf(await signOther(CLAIMS)), "signature");
});

test("refuses the algorithm none", async () => {
  const header = encode({ alg: "none", typ: "yard-run+jwt" });
  assert.equal(await reasonOf(`${header}.${encode(CLAIMS)}.`), "signature");
});

test("refuses HS256 with the public key as the secret", async () => {
  const signed = `${encode({ alg: "HS256", typ: "yard-run+jwt" })}.${encode(CLAIMS)}`;
  for (const secret of [key.publicJwk, Buffer.from(x(key.publicJwk), "base64url")]) {
    const mac = createHmac("sha256", secret).update(signed).digest("base64url");
    assert.equal(await reasonOf(`${signed}.${mac}`), "signature");
  }
});

test("refuses a token of another type, or of none, from the right key", async () => {
  for (const header of [{ typ: "JWT" }, { typ: "at+jwt" }, {}]) {
    assert.equal(await reasonOf(await signRaw(CLAIMS, header)), "claims");
  }
});

test("refuses a header with a critical extension it does not know", async () => {
  const header = encode({ alg: "EdDSA", typ: "yard-run+jwt", crit: ["future"], future: 1 });
  assert.equal(await reasonOf(`${header}.${encode(CLAIMS)}.AAAA`), "malformed");
});

test("refuses claims that break the contract, though the signature is good", async () => {
  const bad = [
    { ...CLAIMS, iss: "switchyard/broker" },
    { ...CLAIMS, aud: "somebody-else" },
    { ...CLAIMS, sub: "../researcher" },
    { ...CLAIMS, admin: true },
    { ...CLAIMS, exp: "never" },
    { ...CLAIMS, tools: null },
    [],
    null,
  ];
  for (const claims of bad) {
    assert.equal(await reasonOf(await signRaw(claims, { typ: "yard-run+jwt" })), "claims");
  }
});

test("refuses an expired token also when it knows it already", async () => {
  let clock = NOW_MS;
  const verifyLater = await createRunTokenVerifier(key.publicJwk, { now: () => clock });
  await verifyLater(token);
  clock = CLAIMS.exp * 1000 - 1;
  await verifyLater(token);
  clock = CLAIMS.exp * 1000;
  await assert.rejects(verifyLater(token), { name: "RunTokenError", reason: "expired" });
  clock = NOW_MS;
  await verifyLater(token);
});

test("refuses a token that is dated further in the future than clocks differ", async () => {
  assert.equal(await reasonOf(await sign({ ...CLAIMS, iat: NOW + 60 })), "claims");
  await verify(await sign({ ...CLAIMS, iat: NOW + 4 }));
});

test("refuses a token that is too long before anything of it is read", async () => {
  const padded = await signRaw({ ...CLAIMS, padding: "x".repeat(8_192) }, { typ: "yard-run+jwt" });
  await assert.rejects(verify(padded), {
    reason: "malformed",
    message: /more than 8192 characters/,
  });
});

test("checks a signature once and forgets the token that was used least recently", async () => {
  const known = new KnownRunTokens(2);
  const remember = await createRunTokenVerifier(key.publicJwk, { now, known });
  const tokens = await Promise.all(["r1", "r2", "r3"].map((run) => sign({ ...CLAIMS, run })));
  const [first = "", second = "", third = ""] = tokens;
  const claims = await remember(first);
  await remember(second);
  assert.equal(await remember(first), claims, "the same object: it was remembered");
  const secondClaims = await remember(second);
  await remember(third); // pushes the first out
  assert.equal(await remember(second), secondClaims);
  assert.notEqual(await remember(first), claims);
});

test("a token that was signed here is cached, has the claims of its bytes, and ends when its time is over", async () => {
  let clock = NOW_MS;
  const known = new KnownRunTokens();
  const signKnown = await createRunTokenSigner(key.privateJwk, { known });
  // It has another key, so it cannot check signatures.
  const verifyKnown = await createRunTokenVerifier(otherKey.publicJwk, { now: () => clock, known });
  const own = await signKnown({ ...CLAIMS, run: "r1", roles: undefined });
  assert.deepEqual(await verifyKnown(own), await verify(own));
  assert.ok(Object.isFrozen(await verifyKnown(own)));
  await assert.rejects(verifyKnown(token), { reason: "signature" });
  const otherEnd = own.endsWith("AA") ? "QA" : "AA"; // one signature in 256 ends so
  await assert.rejects(verifyKnown(own.slice(0, -2) + otherEnd), { reason: "signature" });
  clock += 600_000;
  await assert.rejects(verifyKnown(own), { reason: "expired" });
});

test("signs nothing that a verifier would refuse", async () => {
  await assert.rejects(sign({ ...CLAIMS, sub: "no spaces" }), { reason: "claims" });
  const tools = Array.from({ length: 16 }, () =>
    Array.from({ length: 256 }, (_, n) => `mcp__server__tool_${n}`),
  );
  await assert.rejects(sign({ ...CLAIMS, tools }), {
    reason: "too_large",
    message: /8192 are allowed/,
  });
});

test("accepts only an Ed25519 key of the right half, and never quotes it", async () => {
  const withoutD = {
    name: "TypeError",
    message: "the run token key is not the JSON Web Key of an Ed25519 private key",
  };
  await assert.rejects(createRunTokenSigner(key.publicJwk), withoutD);
  await assert.rejects(createRunTokenSigner("not json"), withoutD);
  await assert.rejects(createRunTokenVerifier(key.privateJwk), /an Ed25519 public key$/);
  await assert.rejects(
    createRunTokenVerifier('{"kty":"oct","k":"AAAA"}'),
    /an Ed25519 public key$/,
  );
});

test("makes different keys", () => {
  assert.notEqual(key.privateJwk, otherKey.privateJwk);
});

async function reasonOf(text: string): Promise<RunTokenFault | "accepted"> {
  try {
    await verify(text);
    return "accepted";
  } catch (error) {
    assert.ok(error instanceof RunTokenError);
    return error.reason;
  }
}

/** Signs anything, as a policy service with a bug might. */
async function signRaw(claims: unknown, header: { typ?: string; kid?: string }): Promise<string> {
  const privateKey = await importJWK(JSON.parse(key.privateJwk) as object, "EdDSA");
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: "EdDSA", ...header })
    .sign(privateKey);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function x(jwk: string): string {
  return (JSON.parse(jwk) as { x: string }).x; // an Ed25519 key has it
}

test("accepts tokens of both keys of a rotation, and names the key in each", async () => {
  const verifyBoth = await createRunTokenVerifier([otherKey.publicJwk, key.publicJwk], { now });
  const signNew = await createRunTokenSigner(otherKey.privateJwk);
  const newer = await signNew(CLAIMS);
  assert.deepEqual(await verifyBoth(newer), CLAIMS);
  assert.deepEqual(await verifyBoth(token), CLAIMS);
  assert.equal(keyIdOf(newer), await runTokenKeyId(otherKey.publicJwk));
  assert.equal(keyIdOf(token), await runTokenKeyId(key.privateJwk));
  assert.equal(keyIdOf("no token"), null);
});

test("a token cannot have itself checked with another key by naming it", async () => {
  const verifyBoth = await createRunTokenVerifier([otherKey.publicJwk, key.publicJwk], { now });
  // Signed with a key that is valid itself: a stop of one key is not bypassed by naming the other.
  const kid = await runTokenKeyId(otherKey.publicJwk);
  const misnamed = await signRaw(CLAIMS, { typ: "yard-run+jwt", kid });
  await assert.rejects(verifyBoth(misnamed), { reason: "signature" });
});
