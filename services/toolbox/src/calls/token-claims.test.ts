import assert from "node:assert/strict";
import { test } from "node:test";
import { isClaimant } from "./token-claims.ts";

const tokenWith = (claims: object): string =>
  `x.${Buffer.from(JSON.stringify({ iss: "switchyard/policy", tools: [], ...claims })).toString("base64url")}.x`;

test("a user with the token of a confirmed claim is a claimant; a run, its replay and its runner are not [F39]", () => {
  const dictated = { replayed: true, dictatedBy: "cli" };
  const token = tokenWith({ requester: "cli", context: dictated });
  assert.equal(isClaimant({ token, onBehalfOf: "cli" }), true);
  assert.equal(isClaimant({ token, onBehalfOf: "runner" }), false);
  const own = tokenWith({ requester: "cli", context: { session: "ses-1" } });
  const other = tokenWith({ requester: "cli", context: { ...dictated, dictatedBy: "team-a" } });
  for (const one of [own, other, "x", undefined])
    assert.equal(isClaimant({ token: one, onBehalfOf: "cli" }), false);
});
