import assert from "node:assert/strict";
import { test } from "node:test";
import { sideEffectsOf } from "./side-effects-of.ts";

const payload = { messageIds: ["m1"], accountId: "main", threadId: "t1" };
const sent = { kind: "send", channel: "loopback", to: "user:1", payload };
const effectsOf = (
  name: string,
  args: Record<string, unknown>,
  structured: Record<string, unknown> = sent,
  isUnknown = false,
) => sideEffectsOf({ name, args, structured, isUnknown, at: 1 }, { sessionKey: "desk" });

test("the seven tools that send are recorded with text, file and target, and cron_add with its job [F38] [F19] [F8]", () => {
  const where = { provider: "loopback", accountId: "main", to: "user:1" };
  const common = { type: "message_sent", sessionKey: "desk", status: "sent", ts: 1 };
  for (const [tool, args, text, mediaUrl] of [
    [
      "message_send",
      { message: "hi", media: "https://a.example/b.png" },
      "hi",
      "https://a.example/b.png",
    ],
    ["message_reply", { message: "hi" }, "hi", null],
    ["message_thread_reply", { message: "hi", threadId: "t1" }, "hi", null],
    ["message_send_attachment", { file: "a.txt", caption: "see" }, "see", "a.txt"],
    ["message_send_attachment", { file: "a.txt" }, "", "a.txt"],
    ["message_send_with_effect", { message: "hi", effectId: "confetti" }, "hi", null],
  ] as const)
    assert.deepEqual(
      effectsOf(tool, args),
      [{ ...common, ...where, tool, text, mediaUrl, threadId: "t1", messageId: "m1" }],
      tool,
    );
  const results = [
    { channel: "loopback", accountId: "main", to: "user:1", ok: true },
    { channel: "loopback", accountId: "main", to: "user:2", ok: false },
  ];
  assert.deepEqual(effectsOf("message_broadcast", { message: "hi" }, { payload: { results } }), [
    { ...common, ...where, tool: "message_broadcast", text: "hi", mediaUrl: null },
  ]);
  for (const status of ["ok", "accepted", "timeout", "error"])
    assert.deepEqual(
      effectsOf(
        "sessions_send",
        { sessionKey: "x", message: "hi" },
        { status, sessionKey: "agent:a:x" },
      ),
      [
        {
          ...common,
          provider: "session",
          to: "agent:a:x",
          tool: "sessions_send",
          text: "hi",
          mediaUrl: null,
        },
      ],
    );
  assert.deepEqual(effectsOf("cron_add", {}, { id: "job-1" }), [
    { type: "cron_added", jobId: "job-1", ts: 1 },
  ]);
});

test("what was not sent is not recorded, and what may have been sent is recorded as unknown [X38]", () => {
  assert.deepEqual(effectsOf("message_send", { message: "hi" }, { ...sent, dryRun: true }), []);
  assert.deepEqual(
    effectsOf("message_send", { message: "hi" }, { ok: false, error: "DENIED" }),
    [],
  );
  const forbidden = { status: "forbidden", error: "no" };
  assert.deepEqual(effectsOf("sessions_send", { message: "hi" }, forbidden), []);
  for (const name of [
    "message_react",
    "message_pin",
    "message_delete",
    "message_read",
    "read_file",
  ])
    assert.deepEqual(effectsOf(name, { messageId: "m1" }, { kind: "action" }), []);
  const [lost] = effectsOf("message_send", { message: "hi", target: "user:1" }, {}, true);
  assert.equal(lost?.type === "message_sent" && lost.status, "unknown");
});
