import assert from "node:assert/strict";
import { test } from "node:test";
import { claimsOf, withClaims } from "./session-claims.ts";

test("the session and the chat that a caller claims replace its arguments, for tools that have them [F39]", () => {
  const headers: Record<string, string> = {
    "x-openclaw-message-channel": "telegram",
    "x-switchyard-account-id": "main",
    "x-openclaw-message-to": "group:-100",
  };
  const claims = claimsOf((name) => headers[name], "agent:helper:main");
  assert.deepEqual(claims, {
    originChannel: "telegram",
    originAccountId: "main",
    originTo: "group:-100",
    callerSession: "agent:helper:main",
  });
  const args = { message: "hi", originTo: "user:boss" };
  const parameters = new Set(["message", "originChannel", "originTo", "callerSession"]);
  assert.deepEqual(withClaims(args, claims, parameters), {
    message: "hi",
    originChannel: "telegram",
    originTo: "group:-100",
    callerSession: "agent:helper:main",
  });
  assert.deepEqual(withClaims(args, claims, new Set()), args);
  assert.deepEqual(
    claimsOf(() => undefined, undefined),
    {},
  );
});
