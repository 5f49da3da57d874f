import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_RUN_DEPTH } from "@switchyard/contracts/agent-runner/run-context";
import { senderFor } from "../platform/sender-for.ts";
import { ToolError } from "../tool-error.ts";
import { senderOf } from "./run-sender.ts";

const tokenWith = (claims: object): string =>
  `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;
const principal = {
  user: "cli",
  agent: "demo",
  runId: "run-1",
  approval: "session" as const,
  context: { channel: "slack", group: "room", session: "ses-1", model: "a/b", root: "run-0" },
};

test("a message of a run hands on its tools, its approval and its origin, one level deeper [F39]", () => {
  const token = tokenWith({ tools: [["message_*"], ["*", "!message_send"]] });
  assert.deepEqual(senderFor({ sender: senderOf(principal, token) }), {
    sender: {
      tools: [["message_*"], ["*", "!message_send"]],
      approval: "session",
      origin: { channel: "slack", group: "room", depth: 1 },
    },
  });
});

test("a message under a claim has the limits of the session, and the run that answers it is not marked as dictated [F39]", () => {
  const context = { channel: "slack", depth: 1, replayed: true as const, dictatedBy: "cli" };
  const token = tokenWith({ tools: [["message_*"]] });
  const marked = { channel: "slack", replayed: true, dictatedBy: "cli", depth: 1 };
  assert.deepEqual(senderOf({ ...principal, context }, token).origin, marked);
  const claimed = senderOf({ ...principal, runId: null, context }, token);
  assert.deepEqual(claimed.origin, { channel: "slack", depth: 1 });
  assert.deepEqual(claimed.tools, [["message_*"]]);
});

test("a token without readable claims hands on no tool", () => {
  for (const token of ["", "x", "a.b.c", tokenWith({}), tokenWith({ tools: [["x"], 3] })])
    assert.deepEqual(senderOf(principal, token).tools, [[]], token);
});

test("the last level begins no other run", () => {
  const origin = { depth: MAX_RUN_DEPTH };
  assert.throws(() => senderFor({ sender: { tools: [], origin } }), ToolError);
  assert.deepEqual(senderFor({ sender: null }), {});
});
