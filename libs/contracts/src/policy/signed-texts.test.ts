import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_PATH } from "./audit-signatures.ts";
import { batchText, decisionText, leafOf, rootOf, treeOf } from "./signed-texts.ts";

test("from each leaf of a batch its path leads to the root, and from another text none does", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 2 ** MAX_PATH }),
      (texts) => {
        const { root, paths } = treeOf(texts.map(leafOf));
        for (const [index, text] of texts.entries()) {
          const path = paths[index] ?? [];
          assert.equal(rootOf(leafOf(text), path), root);
          assert.ok(path.length <= MAX_PATH);
          assert.notEqual(rootOf(leafOf(`${text}.`), path), root);
          // A node is not a leaf: the text that is hashed to it cannot pass as a decision.
          if (path.length > 1) assert.notEqual(rootOf(leafOf(text), path.slice(1)), root);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a signed text is never what a run token's signature is about", () => {
  // RFC 7515: the signing input is base64url, a dot, base64url.
  assert.doesNotMatch(batchText(treeOf([leafOf("a")]).root), /^[A-Za-z0-9_.-]*$/);
});

test("the text of a decision differs in each of its parts, and not in the order of the principal's", () => {
  const decision = {
    record: "policy-0000000000000000:7",
    at: 1,
    provider: "broker",
    caller: "runner",
    principal: { user: "cli", agent: "demo", runId: "r1" },
    access: "tool",
    tool: { name: "mcp__s__t", server: "s", tool: "t" },
    pin: null,
    argsDigest: "sha256:a",
    effect: "allow",
    rule: "r",
    policyDigest: "sha256:b",
    keptForMs: null,
  } as const;
  const texts = [
    decision,
    { ...decision, record: "policy-0000000000000000:8" },
    { ...decision, at: 2 },
    { ...decision, provider: "toolbox" },
    { ...decision, caller: "me" },
    { ...decision, principal: { ...decision.principal, runId: "r2" } },
    { ...decision, access: "prompt" as const },
    { ...decision, tool: { ...decision.tool, tool: "u" } },
    { ...decision, pin: "sha256:c" },
    { ...decision, argsDigest: null },
    { ...decision, effect: "ask" as const },
    { ...decision, rule: null },
    { ...decision, policyDigest: "sha256:d" },
    { ...decision, keptForMs: 500 },
  ].map(decisionText);
  assert.equal(new Set(texts).size, texts.length);
  const { user, agent, runId } = decision.principal;
  assert.equal(decisionText({ ...decision, principal: { runId, agent, user } }), texts[0]);
});
