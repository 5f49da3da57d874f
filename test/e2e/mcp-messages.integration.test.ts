import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readSideEffects } from "@switchyard/service/side-effects";
import { callOf, errorOf, startStdioWorld, type Called, type Json } from "../lib/stdio-world.ts";

const { dev, workspace, seed, bridge, connectV2 } = await startStdioWorld();
const natsEnv = bridge(dev.natsUrl, seed);
const { client: nats } = await connectV2({ env: natsEnv });
const effectsFile = natsEnv.SWITCHYARD_SIDE_EFFECTS_FILE;
const chatEnv = {
  ...natsEnv,
  SWITCHYARD_SESSION_KEY: "team-chat",
  SWITCHYARD_CHANNEL: "loopback",
  SWITCHYARD_ACCOUNT_ID: "default",
  SWITCHYARD_TO: "group:team",
  SWITCHYARD_THREAD_ID: "t1",
};
const { client: chat } = await connectV2({ env: chatEnv });
const messageIdOf = ({ json }: Called): string =>
  String((json["payload"] as { messageIds: string[] }).messageIds[0]);

test("messages are sent, read, reacted to, pinned and deleted, and each sent one is on the disk [F13-F22] [F37] [F38] [F40-F42] [X39]", async () => {
  await rm(effectsFile, { force: true });
  const sent = await callOf(chat, "message_send", {
    target: "user:42",
    message: "<think>hm</think>hello\\nthere",
  });
  const { kind, channel, action, to, handledBy, dryRun } = sent.json;
  assert.deepEqual(
    [kind, channel, action, to, handledBy, dryRun],
    ["send", "loopback", "send", "user:42", "plugin", false],
  );
  const answered = await callOf(chat, "message_reply", { message: "here" });
  assert.equal(answered.json["to"], "group:team");
  // Messages sent here stay in the thread of the chat.
  assert.equal((answered.json["payload"] as Json)["threadId"], "t1");
  const messageId = messageIdOf(answered);
  const reply = { message: "to that", replyToId: messageId };
  assert.equal((await callOf(chat, "message_reply", reply)).isError, false);
  const inThread = await callOf(chat, "message_thread_reply", { message: "in t2", threadId: "t2" });
  assert.equal((inThread.json["payload"] as Json)["threadId"], "t2");
  const effect = { target: "user:42", message: "wow", effectId: "confetti" };
  assert.equal((await callOf(chat, "message_send_with_effect", effect)).isError, false);
  const broadcast = await callOf(chat, "message_broadcast", {
    targets: ["user:42", "group:other"],
    message: "to all",
  });
  const { results } = broadcast.json["payload"] as { results: Json[] };
  assert.deepEqual(
    results.map(({ channel: name, to: target, ok }) => [name, target, ok]),
    [
      ["loopback", "user:42", true],
      ["loopback", "group:other", true],
    ],
  );
  const file = join(workspace, "plan.txt");
  await writeFile(file, "the plan");
  const attached = { target: "user:42", file, caption: "see" };
  const withFile = await callOf(chat, "message_send_attachment", attached);
  assert.equal(withFile.isError, false, withFile.text);
  const marks = async () => {
    const { json } = await callOf(chat, "message_read", {});
    const all = (json["payload"] as { messages: Json[] }).messages;
    const found = all.find((message) => message["messageId"] === messageId);
    return found && [found["reactions"], found["isPinned"]];
  };
  for (const [name, args, expected] of [
    ["message_react", { emoji: "👍", messageId }, [["👍"], undefined]],
    ["message_pin", { messageId }, [["👍"], true]],
    ["message_react", { emoji: "👍", messageId, remove: true }, [[], true]],
    ["message_delete", { messageId }, undefined],
  ] as const) {
    const done = await callOf(chat, name, args);
    assert.deepEqual([done.isError, done.json["kind"]], [false, "action"], done.text);
    assert.deepEqual(await marks(), expected, name);
  }
  const read = await callOf(chat, "message_read", { channelId: "user:42", limit: 10 });
  const { messages } = read.json["payload"] as { messages: Json[] };
  assert.deepEqual(
    messages.map(({ text, attachments }) => [text, (attachments as unknown[]).length]),
    [
      ["hello\nthere", 0],
      ["wow", 0],
      ["to all", 0],
      ["see", 1],
    ],
  );
  const dry = { target: "user:42", message: "not sent", dryRun: true };
  assert.equal((await callOf(chat, "message_send", dry)).json["dryRun"], true);
  const effects = await readSideEffects(effectsFile);
  assert.deepEqual(
    effects.sentTargets.map(({ tool, provider, accountId, to: target }) =>
      [tool, provider, accountId, target].join(" "),
    ),
    [
      "message_send loopback default user:42",
      "message_reply loopback default group:team",
      "message_reply loopback default group:team",
      "message_thread_reply loopback default group:team",
      "message_send_with_effect loopback default user:42",
      "message_broadcast loopback default user:42",
      "message_broadcast loopback default group:other",
      "message_send_attachment loopback default user:42",
    ],
  );
  assert.deepEqual([effects.sentMediaUrls, effects.sentTexts.at(-1)], [[file], "see"]);
});

test("what message tools refuse, they say, and nothing is written down [F13-F18] [F20-F22] [F40]", async () => {
  await rm(effectsFile, { force: true });
  // Refused by the schema, so no channel gets the message.
  const refused = await errorOf(chat, "message_send", { target: 42, message: "x" });
  assert.match(refused, /invalid_arguments: .*\/target/);
  assert.match(
    await errorOf(chat, "message_send", { target: "user:42", message: "<think>x</think>" }),
    /send requires text or media/,
  );
  assert.match(
    await errorOf(nats, "message_reply", { message: "x" }),
    /Action reply requires a target\./,
  );
  assert.match(
    await errorOf(chat, "message_broadcast", { targets: [], message: "x" }),
    /Broadcast requires at least one target in --targets\./,
  );
  assert.match(
    await errorOf(chat, "message_send", { target: "user:1", message: "x", channel: "telegram" }),
    /UNKNOWN_ACCOUNT/,
  );
  assert.match(
    await errorOf(chat, "message_send_with_effect", {
      target: "user:1",
      message: "x",
      effectId: "snow",
    }),
    /UNSUPPORTED: Message action sendWithEffect not supported for channel loopback\./,
  );
  assert.match(
    await errorOf(chat, "message_send_attachment", { target: "user:1", file: "/etc/passwd" }),
    /BAD_ATTACHMENT/,
  );
  assert.match(await errorOf(chat, "message_delete", { messageId: "none" }), /NOT_FOUND/);
  // A model cannot claim that it works in another chat.
  const moved = { message: "x", originTo: "user:boss", callerSession: "other" };
  assert.equal((await callOf(chat, "message_reply", moved)).json["to"], "group:team");
  assert.deepEqual((await readSideEffects(effectsFile)).sentTexts, ["x"]);
});
