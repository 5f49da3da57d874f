import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, afterEach, beforeEach, suite, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import {
  adapterCall,
  adapterKit,
  loaded,
  memorySink,
  outgoing,
} from "../../../test-fixtures/adapter-world.ts";
import { startSlackServer, type SlackServer } from "../../../test-fixtures/slack-server.ts";
import type { ButtonPress, ChannelAdapter, HookRequest } from "../adapter.ts";
import { slack } from "./slack.ts";

const SIGNING_SECRET = "slack-signing-secret";

suite("slack", () => {
  let server: SlackServer;
  let adapter: ChannelAdapter;
  let stop: AbortController;
  const kit = adapterKit("slack");

  beforeEach(async () => {
    server = await startSlackServer();
    const config = {
      botToken: server.tokens.bot,
      appToken: server.tokens.app,
      signingSecret: SIGNING_SECRET,
      apiUrl: server.apiUrl,
    };
    adapter = slack.create(slack.config.parse(config), kit);
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await server.close();
    await adapter.close();
  });
  after(() => assert.doesNotMatch(JSON.stringify(kit.lines), /slack-secret|signing-secret/));

  test("messages of a person, a channel, a group and a thread contain their author and conversation [N8]", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push(server.message({}, "in private &lt;b&gt; &amp;amp;"));
    const mention = server.message({ channel: "C1", channel_type: "channel" }, "<@UBOT> look");
    server.push(mention);
    server.push({ ...mention, type: "app_mention" });
    server.push(
      server.message(
        { channel: "C1", channel_type: "channel", thread_ts: "1699.1", parent_user_id: "UBOT" },
        "in a thread",
      ),
    );
    server.push(server.message({ channel: "G1", channel_type: "mpim" }, "in a group"));
    server.push(server.message({ user: "UBOT", bot_id: "BBOT" }, "our own"));
    server.push(server.message({ subtype: "message_changed" }, "an edit"));
    server.push(server.message({ bot_id: "B9" }, "beep"));
    await sink.texts(5);

    const [direct, inChannel, inThread, inGroup, bot] = sink.messages;
    assert.deepEqual(direct?.target, { kind: "user", id: "U1" });
    assert.equal(direct?.text, "in private <b> &amp;");
    assert.deepEqual(inChannel?.target, { kind: "channel", id: "C1" });
    assert.equal(inChannel?.mentionsAccount, true);
    assert.equal(inChannel?.threadId, undefined);
    assert.equal(inThread?.threadId, "1699.1");
    assert.equal(inThread?.mentionsAccount, true);
    assert.deepEqual(inGroup?.target, { kind: "group", id: "G1" });
    assert.equal(inGroup?.mentionsAccount, false);
    assert.equal(bot?.sender.isBot, true);
    assert.equal(sink.messages.length, 5);
  });

  test("an event is acknowledged when it is stored, and delivered again when it could not be", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    const event = server.message({}, "keep me");
    sink.refuseNext(1);
    const refused = server.push(event, "Ev-a");
    await until(() => sink.connectedTimes() === 2);
    assert.equal(server.acks.has(refused), false);
    const stored = server.push(event, "Ev-a");
    await until(() => server.acks.has(stored));
    const again = server.push(event, "Ev-a");
    await until(() => server.acks.has(again));
    assert.deepEqual(await sink.texts(1), ["keep me"]);
    assert.equal(sink.messages.length, 1);
  });

  test("reconnects at Slack's request, after a lost socket and after a failed request, and gives up without a token", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.refresh();
    await until(() => sink.connectedTimes() === 2);
    server.failNext("apps.connections.open", { kind: "reset" });
    server.dropSockets();
    await until(() => sink.connectedTimes() === 3);
    assert.ok(sink.states.some(({ problem }) => problem === "Slack cannot be reached."));
    server.push(server.message({}, "still here"));
    assert.deepEqual(await sink.texts(1), ["still here"]);
    server.expireToken();
    server.dropSockets();
    await until(() => sink.losses.length === 1);
    assert.match(sink.losses[0] ?? "", /refuses the token \(token_expired\)/);
    assert.equal(sink.states.at(-1)?.state, "error");
  });

  test("a token that is refused is a clear error, and a new one works without another start of the service", async () => {
    server.expireToken();
    await assert.rejects(
      async () => adapter.start?.(memorySink(), stop.signal),
      /refuses the token/,
    );
    await assert.rejects(adapter.check(adapterCall()), { code: "not_allowed" });
    server.renewToken();
    assert.deepEqual(await adapter.check(adapterCall()), { identity: "yard in Yard" });
  });

  test("accepts events over HTTP only with Slack's signature", async () => {
    const sink = memorySink();
    const body = JSON.stringify({
      type: "event_callback",
      event_id: "Ev1",
      event: server.message({}, "by HTTP"),
    });
    const answers = [
      await adapter.receive?.(
        signed(JSON.stringify({ type: "url_verification", challenge: "c-1" })),
        sink,
      ),
      await adapter.receive?.(signed(body), sink),
      await adapter.receive?.(signed(body), sink),
      await adapter.receive?.(
        { ...signed(body), body: Buffer.from(body.replace("HTTP", "FTP")) },
        sink,
      ),
      await adapter.receive?.(signed(body, Date.now() - 600_000), sink),
      await adapter.receive?.({ ...signed(body), headers: {} }, sink),
    ];
    assert.deepEqual(
      answers.map((answer) => answer?.status),
      [200, 200, 200, 401, 401, 401],
    );
    for (const rubbish of ["null", "5", '"x"', "{", "", "\uffff"])
      assert.equal((await adapter.receive?.(signed(rubbish), sink))?.status, 400, rubbish);
    for (const nothing of ["[]", "{}", '{"event":null}', '{"event":{"type":5}}'])
      assert.equal((await adapter.receive?.(signed(nothing), sink))?.status, 200, nothing);
    assert.equal(answers[0]?.body, "c-1");
    assert.deepEqual(await sink.texts(1), ["by HTTP"]);
    assert.equal(sink.messages.length, 1);
    sink.refuseNext(1);
    await assert.rejects(async () =>
      adapter.receive?.(signed(body.replace("HTTP", "pigeon")), sink),
    );
  });

  test("sends to channels, people and threads, and files; no text can mention everyone [N2]", async () => {
    const sent = await adapter.send(
      outgoing("slack", "C1", { text: "a < b & <!channel>" }),
      adapterCall(),
    );
    assert.equal(sent.messageIds.length, 1);
    const { fields = {} } = server.calls.at(-1) ?? {};
    assert.deepEqual(
      [fields["unfurl_links"], fields["unfurl_media"]].map(String),
      ["false", "false"],
      "a preview would fetch what a text links to",
    );
    await adapter.send(outgoing("slack", "C1", { replyToMessageId: "1699.1" }), adapterCall());
    const toPerson = outgoing("slack", "U1");
    await adapter.send(
      { ...toPerson, address: { ...toPerson.address, target: { kind: "user", id: "U1" } } },
      adapterCall(),
    );
    assert.deepEqual(
      server.messages.map((message) => [message["channel"], message["text"], message["thread_ts"]]),
      [
        ["C1", "a &lt; b &amp; &lt;!channel&gt;", undefined],
        ["C1", "hello", "1699.1"],
        ["D1", "hello", undefined],
      ],
    );
    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "" };
    const withFile = await adapter.send(
      outgoing("slack", "C1", { text: "see", attachments: [file] }),
      adapterCall(),
    );
    assert.equal(withFile.messageIds.length, 2);
    assert.equal([...server.files.values()][0]?.toString(), "abc");
    assert.equal(server.calls.at(-1)?.method, "files.completeUploadExternal");
  });

  test("reads, reacts, pins, deletes and finds targets", async () => {
    const { messageIds } = await adapter.send(outgoing("slack", "C1"), adapterCall());
    const at = { address: outgoing("slack", "C1").address, messageId: messageIds[0] ?? "" };
    const read = await adapter.read?.(at.address, { limit: 10 }, adapterCall());
    assert.deepEqual(
      read?.map(({ text, isOwn }) => [text, isOwn]),
      [["hello", true]],
    );
    server.failNext("reactions.add", {
      kind: "answer",
      body: { ok: false, error: "already_reacted" },
    });
    await adapter.react?.(at, { emoji: ":thumbsup:", remove: false }, adapterCall());
    await adapter.react?.(at, { emoji: "thumbsup", remove: true }, adapterCall());
    await adapter.pin?.(at, { unpin: false }, adapterCall());
    await adapter.delete?.(at, adapterCall());
    await assert.rejects(
      async () => adapter.react?.(at, { emoji: "👍", remove: false }, adapterCall()),
      { code: "unsupported" },
    );
    assert.deepEqual(
      server.calls
        .slice(-3)
        .map(({ method, fields }) => [method, fields["timestamp"] ?? fields["ts"]]),
      [
        ["reactions.remove", at.messageId],
        ["pins.add", at.messageId],
        ["chat.delete", at.messageId],
      ],
    );
    assert.deepEqual(await adapter.resolve?.({ text: "#help", kind: null }, adapterCall()), {
      target: { kind: "channel", id: "C1" },
      displayName: "#help",
    });
    await assert.rejects(
      async () => adapter.resolve?.({ text: "#nothing", kind: null }, adapterCall()),
      { code: "invalid_target" },
    );
  });

  test("errors show whether a message may have been sent, and no message is sent twice [N6]", async () => {
    const send = (id = "C1", timeoutMs = 20_000) =>
      adapter.send(outgoing("slack", id), adapterCall(timeoutMs));
    server.failNext("postMessage", {
      kind: "answer",
      status: 429,
      headers: { "retry-after": "2" },
    });
    await assert.rejects(send(), { code: "rate_limited", retryAfterMs: 2000 });
    await assert.rejects(send("C404"), { code: "invalid_target" });
    await assert.rejects(send("C403"), { code: "not_allowed" });
    server.failNext("postMessage", {
      kind: "answer",
      body: { ok: false, error: "missing_scope", needed: "chat:write" },
    });
    await assert.rejects(send(), { code: "not_allowed", message: /scope chat:write/ });
    assert.equal(server.messages.length, 0);
    server.failNext("postMessage", { kind: "answer", status: 503, body: "unavailable" });
    await assert.rejects(send(), { code: "timeout_unknown" });
    server.failNext("postMessage", { kind: "reset" });
    await assert.rejects(send(), { code: "timeout_unknown" });
    server.failNext("postMessage", { kind: "hang" });
    await assert.rejects(send("C1", 1_000), { code: "timeout_unknown" });
    assert.equal(server.messages.length, 2, "the reset and the hanging one were sent once each");
    server.failNext("getUploadURL", { kind: "reset" });
    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "" };
    await assert.rejects(
      adapter.send(outgoing("slack", "C1", { text: "", attachments: [file] }), adapterCall()),
      { code: "provider_error" },
    );
  });

  test("files that people share are loaded with the token from Slack alone", async () => {
    server.files.set("F1", Buffer.from("abc"));
    assert.equal(await loaded(adapter, "F1"), "abc");
    assert.equal(await loaded(adapter, "F1", 2), "problem: it is larger than 2 bytes");
    assert.match(await loaded(adapter, "F2"), /file_not_found/);
    assert.match(await loaded(adapter, "FEXTERNAL"), /at another service/);
    assert.match(await loaded(adapter, "FELSEWHERE"), /at slack\.com\.example/);
    server.failNext("/files/F1", { kind: "answer", body: "<html>sign in</html>" });
    assert.match(await loaded(adapter, "F1"), /scope files:read/);
    server.takeScope();
    assert.match(await loaded(adapter, "F1"), /scope files:read/);
  });

  test("finds by its key whether a message whose answer was lost was accepted", async () => {
    const call = adapterCall(20_000, "f".repeat(32));
    const message = outgoing("slack", "C1");
    assert.equal(await adapter.findSent?.(message, call), null);
    server.failNext("postMessage", { kind: "reset" });
    await assert.rejects(adapter.send(message, call), { code: "timeout_unknown" });
    const found = await adapter.findSent?.(message, call);
    assert.deepEqual(found?.messageIds, [server.messages[0]?.["ts"]]);
    assert.equal(await adapter.findSent?.(message, adapterCall()), null);
  });

  test("without its token for sockets it has no connection, and no error shows a token", async () => {
    const config = { botToken: server.tokens.bot, apiUrl: server.apiUrl };
    const sending = slack.create(slack.config.parse(config), kit);
    assert.ok(!("start" in sending) && !("receive" in sending));
    await server.close();
    const error = await sending
      .send(outgoing("slack", "C1"), adapterCall())
      .catch((reason: unknown) => reason);
    assert.ok(error instanceof Error);
    assert.equal((error as unknown as { code: string }).code, "provider_error");
    assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /slack-secret/);
  });

  test("buttons are below texts without markup, an edit removes them, and only the person who presses gets the answer", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    const buttons = [{ label: "Approve", data: "yd:1" }];
    const text = "Needed: x_y\n<!channel> *b*";
    const message = outgoing("slack", "C1", { text, verbatimFrom: 12, buttons });
    const [messageId = ""] = (await adapter.send(message, adapterCall())).messageIds;
    const blocks = () => server.messages[0]?.["blocks"] as { type: string; elements: object[] }[];
    assert.equal(server.messages[0]?.["text"], "Needed: x_y");
    assert.deepEqual(blocks()[0]?.elements, [
      { type: "rich_text_section", elements: [{ type: "text", text: "Needed: x_y\n" }] },
      { type: "rich_text_preformatted", elements: [{ type: "text", text: "<!channel> *b*" }] },
    ]);
    const press = server.press(messageId, { from: "U1", value: "yd:1" });
    assert.deepEqual(await until(press.answer), { text: "Approved.", isEphemeral: true });
    await until(press.acknowledgedMs);
    const direct = server.press("1.2", { from: "U2", value: "yd:2", channel: "D2" });
    await until(direct.answer);
    assert.deepEqual(
      sink.presses.map(({ target, messageId: at, personId, data }) => [target, at, personId, data]),
      [
        [{ kind: "channel", id: "C1" }, messageId, "U1", "yd:1"],
        [{ kind: "user", id: "U2" }, "1.2", "U2", "yd:2"],
      ],
    );
    const at = { address: message.address, messageId };
    for (let times = 0; times < 2; times += 1)
      await adapter.edit?.(at, { text: "Done\nx", verbatimFrom: 5 }, adapterCall());
    assert.deepEqual(
      blocks().map(({ type }) => type),
      ["rich_text"],
    );
    const gone = { ...at, messageId: "1.1" };
    await assert.rejects(async () => adapter.edit?.(gone, { text: "x" }, adapterCall()), {
      code: "not_found",
    });
  });

  test("presses over HTTP count only with Slack's signature, and a slow decision is acknowledged in time", async () => {
    const sink = memorySink();
    const press = server.press("1.2", { from: "U1", value: "yd:1", channel: "C1", isHttp: true });
    const form = (payload: unknown) =>
      new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const request = (body: string) => {
      const type = "application/x-www-form-urlencoded";
      const { headers, ...rest } = signed(body);
      return { ...rest, headers: { ...headers, "content-type": type } };
    };
    const forged = {
      ...request(form(press.payload)),
      body: Buffer.from(form({ ...press.payload, user: { id: "U9" } })),
    };
    assert.equal((await adapter.receive?.(forged, sink))?.status, 401);
    assert.deepEqual(sink.presses, []);
    const answered = Promise.withResolvers<void>();
    const slow = {
      ...sink,
      press: (pressed: ButtonPress) => answered.promise.then(() => sink.press(pressed)),
    };
    assert.equal((await adapter.receive?.(request(form(press.payload)), slow))?.status, 200);
    assert.equal(press.answer(), null);
    answered.resolve();
    assert.deepEqual(await until(press.answer), { text: "Approved.", isEphemeral: true });
    const elsewhere = { ...press.payload, response_url: "https://hooks.slack.com.example/x" };
    assert.equal((await adapter.receive?.(request(form(elsewhere)), sink))?.status, 200);
    for (const rubbish of [{ type: "block_actions" }, { type: "view_submission" }])
      assert.equal((await adapter.receive?.(request(form(rubbish)), sink))?.status, 200);
    assert.equal((await adapter.receive?.(request("payload="), sink))?.status, 400);
    assert.equal(sink.presses.length, 2);
  });
});

function signed(body: string, atMs = Date.now()): HookRequest {
  const timestamp = String(Math.floor(atMs / 1000));
  const signature = createHmac("sha256", SIGNING_SECRET)
    .update(`v0:${timestamp}:${body}`)
    .digest("hex");
  return {
    method: "POST",
    path: "/",
    headers: { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${signature}` },
    body: Buffer.from(body),
  };
}
