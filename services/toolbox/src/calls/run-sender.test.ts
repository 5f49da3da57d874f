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

test("a token without readable claims hands on no tool", () => {
  for (const token of ["", "x", "a.b.c", tokenWith({}), tokenWith({ tools: [["x"], 3] })])
    assert.deepEqual(senderOf(principal, token).tools, [[]], token);
});

test("the last level begins no other run", () => {
  const origin = { depth: MAX_RUN_DEPTH };
  assert.throws(() => senderFor({ sender: { tools: [], origin } }), ToolError);
  assert.deepEqual(senderFor({ sender: null }), {});
});
