import assert from "node:assert/strict";
import { after, afterEach, beforeEach, suite, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import {
  adapterCall,
  adapterKit,
  loaded,
  memorySink,
  outgoing,
} from "../../../test-fixtures/adapter-world.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../../test-fixtures/telegram-server.ts";
import type { ChannelAdapter } from "../adapter.ts";
import { telegram } from "./telegram.ts";

suite("telegram", () => {
  let server: TelegramServer;
  let adapter: ChannelAdapter;
  let stop: AbortController;
  const kit = adapterKit("telegram");

  const open = (more: object = {}) => {
    const { token, apiRoot } = server;
    return telegram.create(telegram.config.parse({ token, apiRoot, ...more }), kit);
  };
  beforeEach(async () => {
    server = await startTelegramServer();
    adapter = open();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await server.close();
    await adapter.close();
  });
  after(() => assert.doesNotMatch(JSON.stringify(kit.lines), /telegram-secret-token/));

  test("messages of a person, a group and a topic contain their author, conversation and addressee [N8]", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push({ message: server.message({}, "in private") });
    const group = { chat: { id: -1001, type: "supergroup", title: "Team" } };
    server.push({
      message: server.message(
        {
          ...group,
          message_thread_id: 5,
          is_topic_message: true,
          entities: [{ type: "mention", offset: 0, length: 9 }],
        },
        "@yard_bot look",
      ),
    });
    server.push({
      message: server.message(
        { ...group, reply_to_message: { message_id: 3, from: { id: 1 } } },
        "an answer",
      ),
    });
    server.push({
      message: server.message(
        { ...group, from: { id: 9, is_bot: true, first_name: "Other" } },
        "beep",
      ),
    });
    server.push({ message: server.message({ text: undefined, new_chat_members: [{ id: 7 }] }) });
    server.push({
      message: server.message({
        text: undefined,
        caption: "see",
        document: { file_id: "d1", file_name: "a.txt", mime_type: "text/plain", file_size: 3 },
      }),
    });
    await sink.texts(5);

    const [direct, topic, reply, bot, file] = sink.messages;
    assert.deepEqual(direct?.target, { kind: "user", id: "42" });
    assert.deepEqual(direct?.sender, { id: "42", name: "Ada", username: "ada", isBot: false });
    assert.equal(direct?.mentionsAccount, false);
    assert.deepEqual(topic?.target, { kind: "group", id: "-1001" });
    assert.equal(topic?.threadId, "5");
    assert.equal(topic?.mentionsAccount, true);
    assert.equal(reply?.threadId, undefined);
    assert.equal(reply?.replyToMessageId, "3");
    assert.equal(reply?.mentionsAccount, true);
    assert.equal(bot?.sender.isBot, true);
    assert.equal(file?.text, "see");
    assert.deepEqual(file?.attachments, [
      { name: "a.txt", mimeType: "text/plain", sizeBytes: 3, source: "d1" },
    ]);
    assert.equal(sink.messages.length, 5);
  });

  test("an album is one message, also when its last part arrives later, and an anonymous admin is a person", async () => {
    const sink = memorySink();
    const album = (part: object) => ({
      message: server.message({ text: undefined, media_group_id: "7", ...part }),
    });
    const photo = (id: string) => ({
      photo: [{ file_id: "small" }, { file_id: id, file_size: 3 }],
    });
    server.push(album({ ...photo("p1"), caption: "two photos" }));
    await adapter.start?.(sink, stop.signal);
    server.push(album(photo("p2")));
    server.push({
      message: server.message(
        {
          chat: { id: -1001, type: "supergroup", title: "Team" },
          from: { id: 1_087_968_824, is_bot: true, first_name: "Group" },
          sender_chat: { id: -1001, type: "supergroup", title: "Team" },
        },
        "from an admin",
      ),
    });
    assert.deepEqual(await sink.texts(2), ["two photos", "from an admin"]);
    const [photos, admin] = sink.messages;
    assert.deepEqual(
      photos?.attachments?.map(({ source }) => source),
      ["p1", "p2"],
    );
    assert.deepEqual(admin?.sender, { id: "-1001", name: "Team", isBot: false });
  });

  test("files that people send are loaded by their ids, up to the limit, and no problem shows the token", async () => {
    server.files.set("d1", Buffer.from("abc"));
    server.files.set("big", Buffer.alloc(101));
    assert.equal(await loaded(adapter, "d1"), "abc");
    assert.equal(await loaded(adapter, "big"), "problem: it is larger than 100 bytes");
    assert.match(await loaded(adapter, "gone"), /wrong file_id/);
    for (const fault of ["reset", "hang"] as const) {
      server.failNext("/file/bot", { kind: fault });
      const limits = { maxBytes: 100, signal: AbortSignal.timeout(3_000) };
      const problem = await adapter.load?.("d1", limits).catch(String);
      assert.match(String(problem), /cannot be loaded|in time/);
      assert.doesNotMatch(String(problem), /telegram-secret-token/);
    }
    server.failNext("/file/bot", { kind: "answer", status: 302, headers: { location: "/x" } });
    assert.match(await loaded(adapter, "d1"), /redirects/);
    server.failNext("/getFile", {
      kind: "answer",
      body: { ok: true, result: { file_id: "d1", file_path: "/var/lib/telegram/d1" } },
    });
    assert.match(await loaded(adapter, "d1"), /--local/);
  });

  test("a group that became a supergroup is followed, and a final refusal is reported as one", async () => {
    const refusal = (description: string, parameters = {}) => ({
      kind: "answer" as const,
      status: 400,
      body: { ok: false, error_code: 400, description, parameters },
    });
    const upgraded = "Bad Request: group chat was upgraded to a supergroup chat";
    server.failNext("sendMessage", refusal(upgraded, { migrate_to_chat_id: -1009 }));
    await adapter.send(outgoing("telegram", "-9"), adapterCall());
    await adapter.send(outgoing("telegram", "-9"), adapterCall());
    assert.deepEqual(server.calls.map(({ fields }) => String(fields["chat_id"])).slice(-2), [
      "-1009",
      "-1009",
    ]);
    server.failNext("sendMessage", refusal("Bad Request: message text is empty"));
    await assert.rejects(adapter.send(outgoing("telegram", "42"), adapterCall()), {
      code: "provider_error",
      isFinal: true,
    });
  });

  test("a message is confirmed when it is stored, delivered again when it could not be, and a duplicate counts once", async () => {
    const sink = memorySink();
    sink.refuseNext(1);
    await adapter.start?.(sink, stop.signal);
    const message = server.message({}, "keep me");
    const id = server.push({ message });
    await until(() => sink.states.some(({ problem }) => problem !== undefined));
    assert.ok(server.confirmed() <= id, "not confirmed");
    assert.deepEqual(await sink.texts(1), ["keep me"]);
    server.push({ message }, id + 1);
    server.push({ message: server.message({}, "next") }, id + 2);
    assert.deepEqual(await sink.texts(2), ["keep me", "next"]);
    await until(() => server.confirmed() === id + 3);
  });

  test("reconnects after a failure and reports it, and gives up when the token is refused", async () => {
    const sink = memorySink();
    server.failNext("getUpdates", {
      kind: "answer",
      status: 502,
      body: "<html>bad gateway</html>",
    });
    await adapter.start?.(sink, stop.signal);
    await until(() => sink.connectedTimes() === 2);
    server.setConflict(true);
    server.push({ message: server.message({}, "one") });
    await until(() =>
      sink.states.some(({ problem }) => problem?.includes("Another program fetches")),
    );
    server.setConflict(false);
    await until(() => sink.connectedTimes() === 3);
    server.expireToken();
    server.push({ message: server.message({}, "two") });
    await until(() => sink.losses.length === 1);
    assert.match(sink.losses[0] ?? "", /refuses the token.*@BotFather/);
    assert.equal(sink.states.at(-1)?.state, "error");
    assert.doesNotMatch(JSON.stringify([sink.states, sink.losses]), /telegram-secret-token/);
  });

  test("a token that is refused at the start is a clear error", async () => {
    server.expireToken();
    await assert.rejects(
      async () => adapter.start?.(memorySink(), stop.signal),
      /refuses the token/,
    );
    await assert.rejects(adapter.check(adapterCall()), {
      code: "not_allowed",
      message: /refuses the token/,
    });
  });

  test("sends, answers, writes in topics, and sends files with the text as caption [N2]", async () => {
    const sent = await adapter.send(
      outgoing("telegram", "42", { text: "plain *text*", silent: true }),
      adapterCall(),
    );
    assert.deepEqual(sent.messageIds, ["500"]);
    await adapter.send(
      outgoing("telegram", "-1001", { threadId: "5", replyToMessageId: "7" }),
      adapterCall(),
    );
    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "" };
    const files = await adapter.send(
      outgoing("telegram", "42", { text: "see", attachments: [file, file] }),
      adapterCall(),
    );
    assert.equal(files.messageIds.length, 2);
    const [plain, reply, first, second] = server.calls.map(({ fields }) => fields);
    assert.equal(plain?.["text"], "plain *text*");
    assert.equal(plain?.["parse_mode"], undefined);
    assert.equal(plain?.["disable_notification"], true);
    assert.deepEqual(plain?.["link_preview_options"], { is_disabled: true });
    assert.equal(reply?.["message_thread_id"], 5);
    assert.deepEqual(reply?.["reply_parameters"], {
      message_id: 7,
      allow_sending_without_reply: true,
    });
    assert.equal(first?.["caption"], "see");
    assert.equal(second?.["caption"], undefined);
    const showing = open({ linkPreviews: true });
    await showing.send(outgoing("telegram", "42"), adapterCall());
    assert.equal(server.calls.at(-1)?.fields["link_preview_options"], undefined);
    await showing.close();
  });

  test("reacts, deletes, pins and finds targets", async () => {
    const at = { address: outgoing("telegram", "-1001").address, messageId: "7" };
    await adapter.react?.(at, { emoji: "👍", remove: false }, adapterCall());
    await adapter.react?.(at, { emoji: "👍", remove: true }, adapterCall());
    await adapter.delete?.(at, adapterCall());
    await adapter.pin?.(at, { unpin: false }, adapterCall());
    await adapter.pin?.(at, { unpin: true }, adapterCall());
    assert.deepEqual(
      server.calls.map(({ method, fields }) => [method, fields["message_id"], fields["reaction"]]),
      [
        ["setMessageReaction", 7, [{ type: "emoji", emoji: "👍" }]],
        ["setMessageReaction", 7, []],
        ["deleteMessage", 7, undefined],
        ["pinChatMessage", 7, undefined],
        ["unpinChatMessage", 7, undefined],
      ],
    );
    assert.deepEqual(
      await adapter.resolve?.({ text: "https://t.me/team", kind: null }, adapterCall()),
      {
        target: { kind: "group", id: "-1001" },
        displayName: "Team",
      },
    );
    await assert.rejects(
      async () => adapter.resolve?.({ text: "#help", kind: null }, adapterCall()),
      { code: "invalid_target" },
    );
    await assert.rejects(async () => adapter.delete?.({ ...at, messageId: "x" }, adapterCall()), {
      code: "not_found",
    });
  });

  test("errors show whether a message may have been sent, and no message is sent twice [N6]", async () => {
    const send = (id = "42", timeoutMs = 20_000) =>
      adapter.send(outgoing("telegram", id), adapterCall(timeoutMs));
    server.failNext("sendMessage", {
      kind: "answer",
      status: 429,
      body: {
        ok: false,
        error_code: 429,
        description: "Too Many Requests",
        parameters: { retry_after: 2 },
      },
    });
    await assert.rejects(send(), { code: "rate_limited", retryAfterMs: 2000 });
    await assert.rejects(send("404"), { code: "invalid_target" });
    await assert.rejects(send("403"), { code: "not_allowed", message: /blocked by the user/ });
    assert.equal(server.calls.length, 2);
    server.failNext("sendMessage", { kind: "reset" });
    await assert.rejects(send(), { code: "timeout_unknown" });
    server.failNext("sendMessage", {
      kind: "answer",
      status: 502,
      body: "<html>bad gateway</html>",
    });
    await assert.rejects(send(), { code: "timeout_unknown" });
    server.failNext("sendMessage", { kind: "hang" });
    await assert.rejects(send("42", 1_000), { code: "timeout_unknown" });
    assert.equal(server.calls.length, 4, "the reset and the hanging one were sent once each");
    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "" };
    server.failNext("sendDocument", {
      kind: "answer",
      status: 400,
      body: { ok: false, error_code: 400, description: "Bad Request: file is empty" },
    });
    await assert.rejects(
      adapter.send(
        outgoing("telegram", "42", { text: "x".repeat(2000), attachments: [file] }),
        adapterCall(),
      ),
      {
        code: "timeout_unknown",
        message: /1 of 2 parts were sent/,
      },
    );
  });

  test("no error shows the token, also where the library's own does", async () => {
    const port = new URL(server.apiRoot).port;
    await server.close();
    const error = await adapter
      .send(outgoing("telegram", "42"), adapterCall())
      .catch((reason: unknown) => reason);
    assert.ok(error instanceof Error);
    assert.equal((error as unknown as { code: string }).code, "provider_error");
    assert.doesNotMatch(
      `${error.stack} ${JSON.stringify(error)} ${String(error.cause)} ${port}`,
      /telegram-secret-token/,
    );
  });

  test("buttons are sent with a text whose end has no links, and an edit removes them and may be repeated", async () => {
    const buttons = [{ label: "Approve", data: "yd:1" }];
    const sent = await adapter.send(
      outgoing("telegram", "42", { text: "Args:\n@ada t.me/x", verbatimFrom: 6, buttons }),
      adapterCall(),
    );
    const messageId = sent.messageIds[0] ?? "";
    const shown = () => server.shown.get(Number(messageId));
    assert.deepEqual(shown()?.buttons, [{ text: "Approve", data: "yd:1" }]);
    const pre = [{ type: "pre", offset: 6, length: 11 }];
    assert.deepEqual(server.calls.at(-1)?.fields["entities"], pre);
    const { address } = outgoing("telegram", "42");
    const content = { text: "Done. @ada", verbatimFrom: 6 };
    for (let times = 0; times < 2; times += 1)
      await adapter.edit?.({ address, messageId }, content, adapterCall());
    assert.deepEqual([shown()?.text, shown()?.buttons], ["Done. @ada", []]);
    const gone = { address, messageId: "1" };
    await assert.rejects(async () => adapter.edit?.(gone, content, adapterCall()), {
      code: "not_found",
    });
    const long = outgoing("telegram", "42", { buttons: [{ label: "x", data: "y".repeat(65) }] });
    await assert.rejects(adapter.send(long, adapterCall()), { code: "provider_error" });
  });

  test("a press is confirmed after it was handled, and only its person gets the answer", async () => {
    const sink = memorySink();
    sink.refuseNext(1);
    await adapter.start?.(sink, stop.signal);
    const chat = -1001;
    const { id, answer } = server.press(500, { from: 42, data: "yd:1", chat });
    await until(() => answer() !== null);
    assert.deepEqual(sink.presses, [
      {
        target: { kind: "group", id: String(chat) },
        messageId: "500",
        personId: "42",
        data: "yd:1",
        pressId: id,
      },
    ]);
    assert.deepEqual(answer(), { text: "Approved.", isAlert: false });
    await until(() => server.confirmed() > 1000);
    assert.equal(sink.connectedTimes(), 2, "the first delivery was not confirmed");
  });
});
