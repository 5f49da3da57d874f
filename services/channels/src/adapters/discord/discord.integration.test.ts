import assert from "node:assert/strict";
import { after, afterEach, beforeEach, suite, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import {
  adapterCall,
  adapterKit,
  loaded,
  memoryCursor,
  memorySink,
  outgoing,
} from "../../../test-fixtures/adapter-world.ts";
import { startDiscordServer, type DiscordServer } from "../../../test-fixtures/discord-server.ts";
import type { ChannelAdapter, Cursor } from "../adapter.ts";
import { discord } from "./discord.ts";

suite("discord", () => {
  let server: DiscordServer;
  let adapter: ChannelAdapter;
  let cursor: Cursor;
  let stop: AbortController;
  const lines: string[][] = [];

  const open = (more: object = {}) => {
    const kit = adapterKit("discord", cursor);
    lines.push(kit.lines);
    const { token, api } = server;
    return discord.create(discord.config.parse({ token, api, ...more }), kit);
  };
  beforeEach(async () => {
    server = await startDiscordServer();
    cursor = memoryCursor();
    adapter = open();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await server.close();
    await adapter.close();
  });
  after(() => assert.doesNotMatch(JSON.stringify(lines), /discord-secret-token/));

  test("messages of a person, a channel and a thread contain their author and conversation [N8]", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push(server.message({}, "in private"));
    server.push(
      server.message({ guild_id: "5", channel_id: "200", mentions: [{ id: "1" }] }, "<@1> look"),
    );
    server.push(
      server.message(
        { guild_id: "5", channel_id: "201", type: 19, message_reference: { message_id: "77" } },
        "in a thread",
      ),
    );
    server.push(
      server.message(
        { guild_id: "5", author: { id: "1", username: "yard", bot: true } },
        "our own",
      ),
    );
    server.push(server.message({ guild_id: "5", type: 7 }, "joined"));
    server.push(
      server.message({ guild_id: "5", author: { id: "8", username: "b", bot: true } }, "beep"),
    );
    await sink.texts(4);

    const [direct, inChannel, inThread, bot] = sink.messages;
    assert.deepEqual(direct?.target, { kind: "user", id: "42" });
    assert.deepEqual(direct?.sender, { id: "42", name: "Ada", username: "ada", isBot: false });
    assert.deepEqual(inChannel?.target, { kind: "channel", id: "200" });
    assert.equal(inChannel?.mentionsAccount, true);
    assert.deepEqual(inThread?.target, { kind: "channel", id: "201" });
    assert.equal(inThread?.replyToMessageId, "77");
    assert.equal(bot?.sender.isBot, true);
    assert.equal(sink.messages.length, 4);
  });

  test("resumes after the last stored message, also after one that could not be stored and one that comes twice", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    const first = server.message({}, "one");
    server.push(first);
    await sink.texts(1);
    sink.refuseNext(1);
    server.push(server.message({}, "two"));
    await until(() => sink.connectedTimes() === 2);
    server.push(first);
    server.push(server.message({}, "three"));
    assert.deepEqual(await sink.texts(3), ["one", "two", "three"]);
    assert.equal(server.identifies(), 1);
    assert.equal(server.resumes(), 1);
  });

  test("a packet that cannot be read ends only its connection, and no message is lost", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.sendText("null");
    server.push(server.message({}, "one"));
    await until(() => sink.connectedTimes() === 2);
    assert.deepEqual(await sink.texts(1), ["one"]);
    assert.equal(server.resumes(), 1);
  });

  test("a lost session begins anew and fetches the messages written meanwhile, also after a restart", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push(server.message({}, "one"));
    server.push(server.message({ guild_id: "5", channel_id: "200" }, "uno"));
    await sink.texts(2);
    server.drop({ canResume: false });
    server.push(server.message({ channel_id: "100" }, "two"), { silently: true });
    for (let count = 0; count < 120; count++)
      server.push(server.message({ channel_id: "200" }, `dos ${count}`), { silently: true });
    const texts = await sink.texts(123);
    assert.deepEqual(texts.slice(2, 5), ["two", "dos 0", "dos 1"]);
    assert.equal(texts[122], "dos 119");
    assert.deepEqual(sink.messages[2]?.target, { kind: "user", id: "42" });
    assert.equal(server.identifies(), 2);

    stop.abort();
    await adapter.close();
    server.drop({ canResume: false });
    server.push(server.message({ channel_id: "100" }, "after a restart"), { silently: true });
    stop = new AbortController();
    adapter = open();
    const later = memorySink();
    await adapter.start?.(later, stop.signal);
    assert.deepEqual(await later.texts(1), ["after a restart"]);
  });

  test("gives up with a clear text when the token or an intent is refused", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.expireToken();
    server.drop();
    await until(() => sink.losses.length === 1);
    assert.match(sink.losses[0] ?? "", /refuses the token.*Reset Token/);
    assert.equal(sink.states.at(-1)?.state, "error");
    await assert.rejects(
      async () => open().start?.(memorySink(), stop.signal),
      /refuses the token/,
    );
    await assert.rejects(adapter.check(adapterCall()), { code: "not_allowed" });
  });

  test("sends, answers and sends files; the same key again is the same message [N2] [N3]", async () => {
    const call = adapterCall();
    const sent = await adapter.send(
      outgoing("discord", "100", { text: "hello @everyone", silent: true }),
      call,
    );
    const again = await adapter.send(
      outgoing("discord", "100", { text: "hello @everyone", silent: true }),
      call,
    );
    assert.deepEqual(sent.messageIds, again.messageIds);
    assert.equal(server.messages.length, 1);
    const fields = server.calls[0]?.fields;
    assert.ok(String(fields?.["nonce"]).length <= 25);
    assert.deepEqual(fields?.["allowed_mentions"], { parse: ["users"], replied_user: true });
    assert.equal(fields?.["flags"], 4096 + 4, "silent, and without previews");

    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "" };
    await adapter.send(
      outgoing("discord", "100", { replyToMessageId: "77", attachments: [file] }),
      adapterCall(20_000, "a".repeat(32)),
    );
    const withFile = server.calls.at(-1)?.fields;
    assert.deepEqual(withFile?.["message_reference"], {
      message_id: "77",
      fail_if_not_exists: false,
    });
    assert.equal(String((withFile?.["files[0]"] as { bytes: Buffer } | undefined)?.bytes), "abc");

    const toPerson = outgoing("discord", "42");
    await adapter.send(
      { ...toPerson, address: { ...toPerson.address, target: { kind: "user", id: "42" } } },
      adapterCall(20_000, "b".repeat(32)),
    );
    assert.equal(server.calls.at(-1)?.path, "channels/742/messages");
    assert.equal(server.calls.at(-1)?.fields["flags"], 4);
    const showing = open({ linkPreviews: true });
    await showing.send(outgoing("discord", "100"), adapterCall(20_000, "c".repeat(32)));
    assert.equal(server.calls.at(-1)?.fields["flags"], undefined);
    await showing.close();
    await assert.rejects(adapter.send(outgoing("discord", "general"), adapterCall()), {
      code: "invalid_target",
    });
  });

  test("a message whose answer was lost can be sent again under its key [N3]", async () => {
    const call = adapterCall(20_000, "c".repeat(32));
    server.failNext("/messages", { kind: "reset" });
    await assert.rejects(adapter.send(outgoing("discord", "100"), call), {
      code: "timeout_unknown",
    });
    const again = await adapter.send(outgoing("discord", "100"), call);
    assert.deepEqual(again.messageIds, [server.messages[0]?.["id"]]);
    assert.equal(server.messages.length, 1);
  });

  test("reads, reacts, pins, deletes and finds targets", async () => {
    const { messageIds } = await adapter.send(outgoing("discord", "100"), adapterCall());
    const at = { address: outgoing("discord", "100").address, messageId: messageIds[0] ?? "" };
    const read = await adapter.read?.(at.address, { limit: 10 }, adapterCall());
    assert.deepEqual(
      read?.map(({ text, isOwn }) => [text, isOwn]),
      [["hello", true]],
    );
    await adapter.react?.(at, { emoji: "👍", remove: false }, adapterCall());
    await adapter.react?.(at, { emoji: "<:yard:123>", remove: true }, adapterCall());
    await adapter.pin?.(at, { unpin: false }, adapterCall());
    await adapter.delete?.(at, adapterCall());
    assert.deepEqual(
      server.calls.slice(-4).map(({ method, path }) => `${method} ${path}`),
      [
        `PUT channels/100/messages/${at.messageId}/reactions/%F0%9F%91%8D/@me`,
        `DELETE channels/100/messages/${at.messageId}/reactions/yard%3A123/@me`,
        `PUT channels/100/messages/pins/${at.messageId}`,
        `DELETE channels/100/messages/${at.messageId}`,
      ],
    );
    assert.deepEqual(
      await adapter.resolve?.(
        { text: "https://discord.com/channels/5/123456789012345678", kind: null },
        adapterCall(),
      ),
      {
        target: { kind: "channel", id: "123456789012345678" },
        displayName: "#help",
      },
    );
    await assert.rejects(
      async () => adapter.resolve?.({ text: "#help", kind: null }, adapterCall()),
      { code: "invalid_target" },
    );
  });

  test("files that people send are loaded from Discord's hosts alone, without the token", async () => {
    server.files.set("a.txt", Buffer.from("abc"));
    assert.equal(await loaded(adapter, server.fileUrl("a.txt")), "abc");
    assert.equal(
      await loaded(adapter, server.fileUrl("a.txt"), 2),
      "problem: it is larger than 2 bytes",
    );
    assert.match(await loaded(adapter, server.fileUrl("b.txt")), /answers 404/);
    for (const url of ["https://cdn.discordapp.com.example/a", "http://cdn.discordapp.com/a"])
      assert.match(await loaded(adapter, url), /not at the provider/, url);
  });

  test("errors show whether a message may have been sent, and no request is repeated [N6]", async () => {
    const send = (id = "100", timeoutMs = 20_000) =>
      adapter.send(outgoing("discord", id), adapterCall(timeoutMs, "d".repeat(32)));
    server.failNext("/messages", {
      kind: "answer",
      status: 429,
      headers: { "retry-after": "2" },
      body: { message: "You are being rate limited.", retry_after: 1.2, global: false },
    });
    const limited = await send().catch(
      (error: unknown) => error as { code: string; retryAfterMs: number },
    );
    assert.ok("retryAfterMs" in limited);
    assert.equal(limited.code, "rate_limited");
    assert.ok(
      limited.retryAfterMs >= 1200 && limited.retryAfterMs < 4000,
      String(limited.retryAfterMs),
    );
    await assert.rejects(send("404"), { code: "invalid_target" });
    await assert.rejects(send("403"), { code: "not_allowed", message: /Missing Access/ });
    server.failNext("/messages", { kind: "answer", status: 502, body: "bad gateway" });
    await assert.rejects(send("101"), { code: "timeout_unknown" });
    server.failNext("/messages", { kind: "hang" });
    await assert.rejects(send("102", 1_000), { code: "timeout_unknown" });
    assert.equal(server.calls.filter(({ path }) => path === "channels/102/messages").length, 1);
    await server.close();
    await assert.rejects(send("103"), { code: "provider_error" });
  });

  test("buttons are below a text without links, an edit removes them, and only the person who presses gets the answer", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    const buttons = [{ label: "Approve", data: "yd:1" }];
    const text = "Args:\n```@ada https://x";
    const message = outgoing("discord", "200", { text, verbatimFrom: 6, buttons });
    const [messageId = ""] = (await adapter.send(message, adapterCall())).messageIds;
    assert.equal(server.messages[0]?.["content"], "```\nArgs:\n'''@ada https://x\n```");
    const answer = await until(server.press(messageId, { from: "42", data: "yd:1" }));
    assert.deepEqual(answer, { text: "Approved.", isEphemeral: true });
    sink.refuseNext(1);
    const refused = await until(server.press(messageId, { from: "42", data: "yd:1" }));
    assert.match(refused.text, /Press again later/);
    await until(server.press("77", { from: "43", data: "yd:2", channel: await directChannel() }));
    assert.deepEqual(
      sink.presses.map(({ target, messageId: at, personId, data }) => [target, at, personId, data]),
      [
        [{ kind: "channel", id: "200" }, messageId, "42", "yd:1"],
        [{ kind: "user", id: "43" }, "77", "43", "yd:2"],
      ],
    );
    for (const rubbish of [null, 5, {}, { type: 3 }])
      server.push(rubbish as never, { type: "INTERACTION_CREATE" });
    const at = { address: message.address, messageId };
    for (let times = 0; times < 2; times += 1)
      await adapter.edit?.(at, { text: "Done", verbatimFrom: 4 }, adapterCall());
    assert.deepEqual(
      [server.messages[0]?.["content"], server.messages[0]?.["components"]],
      ["```\nDone\n```", []],
    );
    const gone = { ...at, messageId: "1" };
    await assert.rejects(async () => adapter.edit?.(gone, { text: "x" }, adapterCall()), {
      code: "not_found",
    });

    /** Opens the conversation with a person. */
    async function directChannel(): Promise<string> {
      const target = { kind: "user", id: "43" } as const;
      await adapter.send(
        { ...message, address: { ...message.address, target } },
        adapterCall(1_000, "1".repeat(32)),
      );
      return "743";
    }
  });
});
