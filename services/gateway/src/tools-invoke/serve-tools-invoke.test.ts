import assert from "node:assert/strict";
import { test } from "node:test";
import { checkedClaims, claimsOf, withClaims } from "./serve-tools-invoke.ts";

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

test("a session makes claims that are checked, with the channel, agent, group and depth of the headers [F39]", () => {
  const headers: Record<string, string> = {
    "x-openclaw-message-channel": "telegram",
    "x-switchyard-agent-id": "coder",
    "x-switchyard-depth": "1",
  };
  const read = (name: string) => headers[name];
  const channel = (name: string) => (name.endsWith("channel") ? "telegram" : undefined);
  assert.deepEqual(checkedClaims(read, "desk"), {
    session: "desk",
    agent: "coder",
    channel: "telegram",
    depth: 1,
  });
  assert.deepEqual(checkedClaims(channel, "desk"), { session: "desk", channel: "telegram" });
  assert.equal(checkedClaims(channel, undefined), null, "no record is about a channel alone");
});
