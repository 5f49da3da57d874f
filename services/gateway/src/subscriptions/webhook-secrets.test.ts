import assert from "node:assert/strict";
import { test } from "node:test";
import { createSecretCipher } from "@switchyard/service/secret-cipher";
import { createWebhookSecrets } from "./webhook-secrets.ts";

const [old, newer] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const of = (...keys: Buffer[]) => createWebhookSecrets(createSecretCipher(keys));
const id = "whk-0123456789abcdef";

test("a stored secret is encrypted, and opens for its own webhook alone", () => {
  const { secret, kept } = of(old).make(id) ?? assert.fail("there is a key");
  assert.match(secret, /^whsec_[\w+/]{43}=$/);
  assert.ok(!kept.includes(secret.slice(6)));
  assert.equal(of(newer, old).open(id, kept), secret);
  assert.throws(() => of(old).open("whk-0000000000000000", kept), { name: "SealError" });
  assert.throws(() => of(newer).open(id, kept), /another key/);
});

test("a secret that is stored without a key, or with an older one, is stored with the newest", () => {
  const { secret, kept } = of(old).make(id) ?? assert.fail("there is a key");
  for (const before of [secret, kept]) {
    const renewed = of(newer, old).renewed(id, before) ?? assert.fail("it was not renewed");
    assert.equal(of(newer).open(id, renewed), secret);
    assert.equal(of(newer).renewed(id, renewed), null);
  }
  assert.throws(() => of(newer).renewed(id, kept), /another key/);
});

test("without a key no secret is made, and stored plain secrets are read", () => {
  assert.equal(of().make(id), null);
  assert.equal(of().open(id, "whsec_abc"), "whsec_abc");
  assert.equal(of().renewed(id, "whsec_abc"), null);
  assert.throws(() => of().open(id, "v1.abc"), { name: "SealError" });
});
