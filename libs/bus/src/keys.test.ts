import assert from "node:assert/strict";
import test from "node:test";
import { nkeyAuthenticator, nkeys } from "@nats-io/transport-node";
import { createUserKey, isUserSeed, seedAuthenticator } from "./keys.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("keys and logins are those of the NKey library", () => {
  for (let n = 0; n < 5; n += 1) {
    const { seed, publicKey } = createUserKey();
    assert.equal(nkeys.fromSeed(bytes(seed)).getPublicKey(), publicKey);
    const login = seedAuthenticator(`${seed}\n`, () => seed)("nonce-17");
    assert.deepEqual(login, nkeyAuthenticator(bytes(seed))("nonce-17"));
  }
  const theirs = nkeys.createUser();
  assert.equal(isUserSeed(new TextDecoder().decode(theirs.getSeed())), true);
});

test("a seed that is not a user's, a public key and a seed with a wrong letter are not seeds of users", () => {
  const { seed, publicKey } = createUserKey();
  const account = new TextDecoder().decode(nkeys.createAccount().getSeed());
  const wrong = `${seed.slice(0, 20)}${seed[20] === "A" ? "B" : "A"}${seed.slice(21)}`;
  const words = [
    "",
    "SU",
    publicKey,
    account,
    wrong,
    seed.slice(1),
    `${seed}A`,
    seed.toLowerCase(),
  ];
  for (const text of words) assert.equal(isUserSeed(text), false, text.slice(0, 2));
});
