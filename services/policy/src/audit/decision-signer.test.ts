import assert from "node:assert/strict";
import { test } from "node:test";
import {
  admissionText,
  batchText,
  decisionText,
  leafOf,
  rootOf,
} from "@switchyard/contracts/policy/signed-texts";
import {
  createSignatureCheck,
  createTextSigner,
  parsePublicKeys,
} from "@switchyard/audit/audit-keys";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { createDecisionSigner } from "./decision-signer.ts";

const { privateJwk, publicJwk } = await createRunTokenKey();
const key = createTextSigner(privateJwk);
const signatures = createSignatureCheck(parsePublicKeys(publicJwk) ?? []);

function lab() {
  const signed: string[] = [];
  const signer = createDecisionSigner((text) => {
    signed.push(text);
    return { kid: key.kid, signature: key.sign(text) };
  });
  return { signer, signed };
}

const decision = (seq: number, keptForMs: number | null = null) => ({
  record: `policy-0000000000000000:${seq}`,
  at: 1_000 + seq,
  provider: "broker",
  caller: "runner",
  principal: { user: "cli", agent: "demo", runId: "r1" },
  access: "tool" as const,
  tool: { name: "mcp__s__t", server: "s", tool: "t" },
  pin: null,
  argsDigest: `sha256:${"0".repeat(64)}`,
  effect: "allow" as const,
  rule: "r",
  policyDigest: `sha256:${"1".repeat(64)}`,
  keptForMs,
});

test("decisions of one turn share one signature, and each decision has its own path to it", async () => {
  const { signer, signed } = lab();
  const made = [1, 2, 3, 4, 5].map((seq) => decision(seq));
  const proofs = await Promise.all(made.map((one) => signer.decision(one)));
  assert.equal(signed.length, 1);
  for (const [index, proof] of proofs.entries()) {
    assert.ok(proof !== null);
    const text = decisionText(made[index] ?? assert.fail());
    assert.equal(proof.at, made[index]?.at);
    assert.equal(signatures.check(batchText(rootOf(leafOf(text), proof.path)), proof), "good");
    assert.equal(signatures.check(batchText(rootOf(leafOf(`${text} `), proof.path)), proof), "bad");
  }
  await signer.decision(decision(6));
  assert.equal(signed.length, 2);
});

test("a single decision has no path, a cacheable one contains its duration, and more decisions than a tree holds are two batches", async () => {
  const { signer, signed } = lab();
  const alone = await signer.decision(decision(1, 500));
  assert.deepEqual([alone?.path, alone?.keptForMs], [undefined, 500]);
  const many = Array.from({ length: 300 }, (_, index) => decision(index + 1));
  await Promise.all(many.map((one) => signer.decision(one)));
  assert.equal(signed.length, 3);
});

test("a person's approval is signed for one call, with its time", async () => {
  const { signer } = lab();
  const { policyDigest, argsDigest } = decision(1);
  const admission = {
    at: 7,
    provider: "broker",
    caller: "runner",
    approvalId: "apr-1",
    grantId: null,
    argsDigest,
    policyDigest,
  };
  const proof = await signer.admission(admission);
  assert.ok(proof !== null);
  assert.equal(
    signatures.check(batchText(rootOf(leafOf(admissionText(admission)), proof.path)), proof),
    "good",
  );
});

test("no decision is signed when every key was revoked", async () => {
  const signer = createDecisionSigner(() => null);
  assert.equal(await signer.decision(decision(1)), null);
});
