import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { checkSignature } from "./serve-hook.ts";

/** The examples of https://docs.svix.com/receiving/verifying-payloads/how-manual and of GitHub's documentation. */
const STANDARD = {
  secret: Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64"),
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: "1614265330",
  body: Buffer.from('{"test": 2432232314}'),
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const GITHUB = {
  secret: Buffer.from("It's a Secret to Everybody"),
  body: Buffer.from("Hello, World!"),
  signature: "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
};
const OTHER = Buffer.alloc(32, 7);

function standard(changes: {
  headers?: Record<string, string>;
  body?: Uint8Array;
  secrets?: Uint8Array[];
  seconds?: number;
}): string {
  const headers = new Headers({
    "webhook-id": STANDARD.id,
    "webhook-timestamp": STANDARD.timestamp,
    "webhook-signature": STANDARD.signature,
    ...changes.headers,
  });
  const checked = checkSignature(
    { form: "standard", secrets: changes.secrets ?? [STANDARD.secret] },
    {
      headers,
      body: changes.body ?? STANDARD.body,
      nowMs: (Number(STANDARD.timestamp) + (changes.seconds ?? 0)) * 1_000,
    },
  );
  return "delivery" in checked ? checked.delivery.id : checked.refusal.code;
}

test("a Standard Webhook is accepted with any of the secrets and any of its signatures", () => {
  assert.equal(standard({}), STANDARD.id);
  assert.equal(standard({ secrets: [OTHER, STANDARD.secret] }), STANDARD.id);
  const several = `v1,AAAA v1a,abc= ${STANDARD.signature}`;
  assert.equal(standard({ headers: { "webhook-signature": several } }), STANDARD.id);
  for (const seconds of [-300, 300]) assert.equal(standard({ seconds }), STANDARD.id);
});

test("a Standard Webhook is refused when its body, id, time, version or secret is another one, or its time is over", () => {
  const old = { secrets: [OTHER], seconds: 1_000 };
  const cases: [Parameters<typeof standard>[0], string][] = [
    [{ body: Buffer.from('{"test": 1}') }, "bad_signature"],
    [{ headers: { "webhook-id": "msg_other" } }, "bad_signature"],
    [{ headers: { "webhook-timestamp": "1614265331" } }, "bad_signature"],
    [{ headers: { "webhook-timestamp": "soon" } }, "bad_signature"],
    [{ headers: { "webhook-signature": STANDARD.signature.slice(3) } }, "bad_signature"],
    [{ headers: { "webhook-signature": STANDARD.signature.replace("v1", "v2") } }, "bad_signature"],
    [{ headers: { "webhook-signature": "" } }, "bad_signature"],
    [{ secrets: [OTHER] }, "bad_signature"],
    [{ secrets: [] }, "bad_signature"],
    [old, "bad_signature"],
    [{ seconds: 301 }, "expired_signature"],
    [{ seconds: -301 }, "expired_signature"],
  ];
  for (const [changes, code] of cases)
    assert.equal(standard(changes), code, JSON.stringify(changes));
});

test("GitHub's signature is checked as GitHub documents it, and nothing else of GitHub's counts", () => {
  const check = (headers: Record<string, string>, secrets = [OTHER, GITHUB.secret]) =>
    checkSignature(
      { form: "github", secrets },
      { headers: new Headers(headers), body: GITHUB.body, nowMs: 0 },
    );
  const all = {
    "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    "x-github-event": "issues",
    "x-hub-signature-256": GITHUB.signature,
  };
  assert.deepEqual(check(all), { delivery: { id: all["x-github-delivery"], event: "issues" } });
  const sha1 = `sha1=${createHmac("sha1", GITHUB.secret).update(GITHUB.body).digest("hex")}`;
  const wrong: Record<string, string>[] = [
    { ...all, "x-hub-signature-256": `${GITHUB.signature.slice(0, -1)}8` },
    { ...all, "x-hub-signature-256": GITHUB.signature.slice(7) },
    { ...all, "x-hub-signature-256": sha1 },
    { ...all, "x-hub-signature-256": "", "x-hub-signature": sha1 },
    { ...all, "x-github-delivery": "" },
    { ...all, "x-github-event": "" },
  ];
  for (const headers of wrong) assert.ok("refusal" in check(headers), JSON.stringify(headers));
  assert.ok("refusal" in check(all, [OTHER]));
});
