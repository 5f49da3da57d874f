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
import {
  startMailServer,
  type MailServer,
  type SmtpFault,
} from "../../../test-fixtures/mail-server.ts";
import type { ChannelAdapter, Cursor } from "../adapter.ts";
import { email } from "./email.ts";

suite("email", () => {
  let server: MailServer;
  let adapter: ChannelAdapter;
  let cursor: Cursor;
  let stop: AbortController;
  const lines: string[][] = [];

  const open = (more: object = {}) => {
    const { user, password } = server.account;
    const login = { host: "127.0.0.1", user, password, tls: "none" };
    const config = {
      address: user,
      name: "Yard",
      smtp: { ...login, port: server.smtpPort },
      imap: { ...login, port: server.imapPort },
      ...more,
    };
    const kit = adapterKit("email", cursor);
    lines.push(kit.lines);
    return email.create(email.config.parse(config), kit);
  };
  beforeEach(async () => {
    server = await startMailServer();
    cursor = memoryCursor();
    adapter = open();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await adapter.close();
    await server.close();
  });
  after(() => assert.doesNotMatch(JSON.stringify(lines), /mail-secret-password/));

  test("mail of a person and in a thread contains its author and the mail that it answers; automatic mail is ignored [N8]", async () => {
    server.push({ Subject: "Old" }, "from before the first start");
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push({ "Message-ID": "<a@x.test>" }, "How are you?");
    server.push(
      {
        "Message-ID": "<b@x.test>",
        "In-Reply-To": "<r@x.test>",
        References: "<a@x.test> <r@x.test>",
        Subject: "Re: A question",
      },
      "Thanks!\r\n\r\nOn Monday, Yard wrote:\r\n> fine\r\n> and you?",
    );
    server.push({ "Auto-Submitted": "auto-replied" }, "I am away");
    server.push({ "List-Id": "<news.x.test>" }, "News");
    server.push({ From: "MAILER-DAEMON@x.test" }, "Not delivered");
    server.push({ From: server.account.user }, "our own");
    server.push({ "Message-ID": "<c@x.test>", From: "bob@x.test" }, "last");
    await sink.texts(3);

    const [first, reply, last] = sink.messages;
    assert.deepEqual(first?.target, { kind: "user", id: "ada@example.test" });
    assert.deepEqual(first?.sender, { id: "ada@example.test", name: "Ada" });
    assert.equal(first?.text, "A question\n\nHow are you?");
    assert.equal(first?.threadId, "<a@x.test>");
    assert.equal(reply?.threadId, "<a@x.test>");
    assert.equal(reply?.replyToMessageId, "<r@x.test>");
    assert.equal(reply?.text, "Thanks!");
    assert.equal(last?.messageId, "<c@x.test>");
    assert.equal(sink.messages.length, 3);
  });

  test("a file of a mail is loaded by the mail's number, also by another connection", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    const content = Buffer.from("abc").toString("base64");
    server.push(
      { "MIME-Version": "1.0", "Content-Type": 'multipart/mixed; boundary="b"' },
      [
        "--b",
        "Content-Type: text/plain",
        "",
        "see",
        "--b",
        'Content-Disposition: attachment; filename="a.txt"',
        "Content-Type: text/plain",
        "Content-Transfer-Encoding: base64",
        "",
        content,
        "--b--",
      ].join("\r\n"),
    );
    await sink.texts(1);
    const [file] = sink.messages[0]?.attachments ?? [];
    assert.equal(file?.name, "a.txt");
    assert.equal(await loaded(open(), file.source), "abc");
    assert.equal(await loaded(adapter, file.source, 2), "problem: it is larger than 2 bytes");
    server.renumber();
    assert.match(await loaded(adapter, file.source), /not in the mailbox any more/);
    server.expirePassword();
    assert.match(await loaded(adapter, file.source), /refuses user or password/);
  });

  test("continues after the last stored mail after a refusal, a lost connection, a restart and new numbers", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    sink.refuseNext(1);
    server.push({}, "one");
    await sink.texts(1);
    server.dropImap();
    server.push({}, "two");
    assert.equal((await sink.texts(2)).length, 2);
    assert.ok(
      sink.states.some(({ state, problem }) => state === "connecting" && problem !== undefined),
    );
    stop.abort();
    await adapter.close();
    server.push({}, "three");
    server.renumber();
    stop = new AbortController();
    adapter = open();
    await adapter.start?.(sink, stop.signal);
    const texts = await sink.texts(3);
    assert.deepEqual(
      texts.map((text) => text.split("\n").at(-1)),
      ["one", "two", "three"],
    );
  });

  test("with the server's name, mail that was not found genuine is left", async () => {
    adapter = open({ authservId: "mx.example.test" });
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push(
      { "Authentication-Results": "mx.example.test; dmarc=fail header.from=example.test" },
      "forged",
    );
    server.push({ "Authentication-Results": "evil.test; dmarc=pass" }, "forged by hand");
    server.push({}, "nothing said");
    server.push(
      {
        "Authentication-Results": "mx.example.test; spf=pass; dmarc=pass header.from=example.test",
      },
      "genuine",
    );
    assert.deepEqual(await sink.texts(1), ["A question\n\ngenuine"]);
  });

  test("gives up with a clear text when the password is refused", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.expirePassword();
    server.dropImap();
    await until(() => sink.losses.length === 1);
    assert.match(sink.losses[0] ?? "", /refuses user or password/);
    await assert.rejects(
      async () => open().start?.(memorySink(), stop.signal),
      /refuses user or password/,
    );
    await assert.rejects(adapter.check(adapterCall()), { code: "not_allowed" });
    server.renewPassword();
    assert.deepEqual(await adapter.check(adapterCall()), { identity: "bot@example.test" });
  });

  test("sends and answers in the thread, with the same Message-ID for the same key [N2]", async () => {
    const sink = memorySink();
    await adapter.start?.(sink, stop.signal);
    server.push({ "Message-ID": "<a@x.test>", Subject: "Tea" }, "When?");
    // A sender cannot rename another sender's thread.
    const meddling = { From: "mal@x.test", References: "<a@x.test>", Subject: "Re: Pay at once" };
    server.push(meddling, "Hello");
    await sink.texts(2);
    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "" };
    const sent = await adapter.send(
      outgoing("email", "ada@example.test", {
        text: "At five.",
        threadId: "<a@x.test>",
        replyToMessageId: "<a@x.test>",
        attachments: [file],
      }),
      adapterCall(),
    );
    const again = await adapter.send(
      outgoing("email", "ada@example.test", { text: "A report\nof today" }),
      adapterCall(),
    );
    assert.deepEqual(again.messageIds, sent.messageIds);
    assert.match(sent.messageIds[0] ?? "", /^<[0-9a-f]{32}@example\.test>$/);
    const [reply = "", fresh = ""] = server.received.map(({ source }) => source);
    assert.ok(reply.includes(`Message-ID: ${sent.messageIds[0]}`));
    assert.match(reply, /^Subject: Re: Tea\r$/m);
    assert.match(reply, /^In-Reply-To: <a@x\.test>\r$/m);
    assert.match(reply, /^Auto-Submitted: auto-replied\r$/m);
    assert.match(reply, /filename=a\.txt/);
    assert.match(fresh, /^Subject: A report\r$/m);
    assert.match(fresh, /^Auto-Submitted: auto-generated\r$/m);
    assert.deepEqual(server.received[0]?.to, ["ada@example.test"]);
  });

  test("errors show whether a mail may have been sent, and no mail is sent twice [N6]", async () => {
    const send = (fault?: SmtpFault, timeoutMs = 20_000) => {
      if (fault) server.faults.push(fault);
      return adapter.send(outgoing("email", "ada@example.test"), adapterCall(timeoutMs));
    };
    await assert.rejects(send("no-such-user"), { code: "invalid_target", message: /No such user/ });
    for (const fault of ["too-many-connections", "sign-in-later", "busy", "full"] as const)
      await assert.rejects(send(fault), { code: "rate_limited", retryAfterMs: 3_000 }, fault);
    await assert.rejects(send("refused-content"), {
      code: "not_allowed",
      message: /now and later; nothing was sent: 554 5\.6\.0/,
    });
    assert.equal(server.received.length, 0);
    await assert.rejects(send("lost"), { code: "timeout_unknown" });
    await assert.rejects(send("hang", 1_000), { code: "timeout_unknown" });
    assert.equal(server.received.length, 2, "the lost and the hanging one were sent once each");
    server.expirePassword();
    const refused = await send().catch((error: unknown) => error as Error & { code: string });
    assert.ok(refused instanceof Error);
    assert.equal(refused.code, "not_allowed");
    assert.doesNotMatch(`${refused.stack} ${JSON.stringify(refused)}`, /mail-secret-password/);
    await assert.rejects(
      adapter.send(outgoing("email", "ada@example.test,bob@x.test"), adapterCall()),
      { code: "invalid_target" },
    );
  });

  test("passwords go over TLS, or not beyond this machine", () => {
    const login = { host: "mail.example.test", port: 25, user: "u", password: "p", tls: "none" };
    assert.match(
      email.config.safeParse({ address: "a@b.test", smtp: login }).error?.message ?? "",
      /tls: none/,
    );
    assert.ok(
      email.config.safeParse({ address: "a@b.test", smtp: { ...login, tls: "starttls" } }).success,
    );
  });
});
