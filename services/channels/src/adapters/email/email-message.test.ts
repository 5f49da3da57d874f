import assert from "node:assert/strict";
import { test } from "node:test";
import { simpleParser } from "mailparser";
import { emailMessage } from "./email-message.ts";

const FROM = "From: Boss <boss@corp.test>";
const RESULTS = "Authentication-Results:";
const GENUINE = `${RESULTS} mx.test; spf=pass; dmarc=pass header.from=corp.test`;
/** The results header when the server has authenticated evil.test, the forger's own domain. */
const EVIL = `${RESULTS} mx.test; dmarc=pass header.from=evil.test`;

async function read(headers: readonly string[], authservId: string | undefined = "mx.test") {
  const source = ["Received: by mx.test", ...headers, "Subject: Pay", "", "now"].join("\r\n");
  const parsed = await simpleParser(Buffer.from(source));
  return emailMessage(parsed, { ownAddress: "yard@own.test", authservId, uidKey: "1.1" });
}

async function senderOf(headers: readonly string[]): Promise<object | string> {
  const mail = await read(headers);
  return "message" in mail ? mail.message.sender : mail.ignored;
}

test("genuine mail has the sender that its server has proved", async () => {
  const sender = { id: "boss@corp.test", name: "Boss" };
  for (const [from, results] of [
    [FROM, GENUINE],
    ["from: Boss <boss@CORP.test> (again)", GENUINE],
    [FROM, `${RESULTS} MX.test 1;\r\n dmarc=Pass (p=none)\r\n header.from=Corp.Test`],
    [FROM, `${GENUINE}\r\n${RESULTS} relay.test; dmarc=fail header.from=corp.test`],
    [FROM, `ARC-${RESULTS} i=1; mx.test; dmarc=fail\r\n${GENUINE}`],
    ['From: "Boss" <boss@corp.test>', `${RESULTS} "mx.test"; dmarc=pass header.from="corp.test"`],
  ] as const)
    assert.deepEqual(await senderOf([results, from]), sender, `${from} ${results}`);
  assert.deepEqual(await senderOf([GENUINE, "From: boss@corp.test"]), { id: "boss@corp.test" });
});

test("a name is data, whatever it imitates", async () => {
  for (const [from, name] of [
    ['From: "boss@corp.test" <m@evil.test>', "boss@corp.test"],
    ["From: =?utf-8?q?boss=40corp=2Etest?= <m@evil.test>", "boss@corp.test"],
    ["From: =?utf-8?q?=3Cboss=40corp=2Etest=3E=2C?= <m@evil.test>", "<boss@corp.test>,"],
    ['From: "Boss <boss@corp.test>" <m@evil.test>', "Boss <boss@corp.test>"],
  ] as const)
    assert.deepEqual(await senderOf([EVIL, from]), { id: "m@evil.test", name }, from);
});

test("an internationalised domain is one sender, however it is written", async () => {
  for (const [written, found] of [
    ["münchen.test", "xn--mnchen-3ya.test"],
    ["xn--mnchen-3ya.test", "münchen.test"],
  ] as const) {
    const results = `${RESULTS} mx.test; dmarc=pass header.from=${found}`;
    assert.deepEqual(await senderOf([results, `From: a@${written}`]), { id: "a@münchen.test" });
  }
});

// Forgeries in the name of boss@corp.test that were once accepted, and variants of them: each is refused.
const FORGED: Readonly<Record<string, readonly string[]>> = {
  "a separator in a quoted string": [
    `${RESULTS} mx.test; spf=fail reason="x; dmarc=pass header.from=corp.test"`,
    FROM,
  ],
  "a separator in a quoted local part": [
    `${RESULTS} mx.test; spf=fail smtp.mailfrom="a; dmarc=pass header.from=corp.test"@evil.test`,
    FROM,
  ],
  "a separator in a comment": [
    `${RESULTS} mx.test; spf=fail (of "x"; dmarc=pass header.from=corp.test)`,
    FROM,
  ],
  "a name in HELO": [`${RESULTS} mx.test; spf=fail smtp.helo=x;dmarc=pass;a=b.test`, FROM],
  "an identity in DKIM that the sender chose": [
    `${RESULTS} mx.test; dkim=pass header.i="@evil.test; dmarc=pass header.from=corp.test"`,
    FROM,
  ],
  "two addresses in From": [EVIL, "From: boss@corp.test, m@evil.test"],
  "two addresses in From, the proved one first": [EVIL, "From: m@evil.test, boss@corp.test"],
  "two From headers": [EVIL, "From: m@evil.test", FROM],
  "two From headers, the forged one first": [EVIL, FROM, "From: m@evil.test"],
  "two From headers, one written with blanks": [
    EVIL,
    "From: m@evil.test",
    "FROM\t: boss@corp.test",
  ],
  "two From headers, one with a character that programs drop": [
    EVIL,
    "From\u0000: boss@corp.test",
    "From: m@evil.test",
  ],
  "an address in brackets before another one": [EVIL, "From: <boss@corp.test> (x) <m@evil.test>"],
  "an address as a name": [EVIL, "From: boss@corp.test <m@evil.test>"],
  "an address behind a quoted name": [EVIL, 'From: "Boss" boss@corp.test <m@evil.test>'],
  "a group": [EVIL, "From: Staff: boss@corp.test, m@evil.test;"],
  "a group of nobody": [EVIL, "From: boss@corp.test:;"],
  "a route": [EVIL, "From: <@evil.test:boss@corp.test>"],
  "an encoded address": [EVIL, "From: =?utf-8?q?boss=40corp=2Etest?="],
  "an address in a comment": [EVIL, "From: (boss@corp.test) m@evil.test (boss@corp.test"],
  "no From": [GENUINE, "Sender: boss@corp.test"],
  "an empty From": [GENUINE, "From:"],
  "another domain that passed": [EVIL, FROM],
  "a domain that only begins alike": [
    `${RESULTS} mx.test; dmarc=pass header.from=corp.test.evil.test`,
    FROM,
  ],
  "a parent of the domain": [`${RESULTS} mx.test; dmarc=pass header.from=test`, FROM],
  "a domain with a slash, which browsers cut": [
    `${RESULTS} mx.test; dmarc=pass header.from=corp.test/.evil.test`,
    "From: boss@corp.test/.evil.test",
  ],
  "a domain with an escape, which browsers decode": [
    `${RESULTS} mx.test; dmarc=pass header.from=corp%2Etest`,
    "From: boss@corp%2Etest",
  ],
  "an address of a machine": [`${RESULTS} mx.test; dmarc=pass header.from=1.2`, "From: boss@1.2"],
  "no domain that passed": [`${RESULTS} mx.test; dmarc=pass`, FROM],
  "several domains that passed": [
    `${RESULTS} mx.test; dmarc=pass header.from=evil.test header.from=corp.test`,
    FROM,
  ],
  "several results of DMARC": [
    `${RESULTS} mx.test; dmarc=fail header.from=corp.test; dmarc=pass header.from=corp.test`,
    FROM,
  ],
  "SPF and DKIM without DMARC": [
    `${RESULTS} mx.test; spf=pass smtp.mailfrom=corp.test; dkim=pass header.d=corp.test`,
    FROM,
  ],
  "a result that is not pass": [
    `${RESULTS} mx.test; dmarc=bestguesspass header.from=corp.test`,
    FROM,
  ],
  "a method with a longer name": [`${RESULTS} mx.test; xdmarc=pass header.from=corp.test`, FROM],
  "a property of another type": [`${RESULTS} mx.test; dmarc=pass smtp.from=corp.test`, FROM],
  "another server's word": [`${RESULTS} mx.evil.test; dmarc=pass header.from=corp.test`, FROM],
  "a server whose name contains ours": [
    `${RESULTS} mx.test.evil; dmarc=pass header.from=corp.test`,
    FROM,
  ],
  "the server's word below another one of its name": [
    `${RESULTS} mx.test; dmarc=fail header.from=corp.test`,
    GENUINE,
    FROM,
  ],
  "the server's word above another one of its name": [GENUINE, GENUINE, FROM],
  "a header that breaks off": [`${GENUINE} reason="`, FROM],
  "a header without a result": [`${RESULTS} mx.test; none`, FROM],
  "no header": [FROM],
};
for (const [how, headers] of Object.entries(FORGED))
  test(`mail in another's name is refused: ${how}`, async () => {
    const sender = await senderOf(headers);
    assert.ok(typeof sender === "string", JSON.stringify(sender));
  });

test("without the server's name a mail still has one sender or none", async () => {
  for (const headers of [
    ["From: boss@corp.test, m@evil.test"],
    [FROM, "From: m@evil.test"],
    ["From: <boss@corp.test> (x) <m@evil.test>"],
  ])
    assert.ok("ignored" in (await read(headers, undefined)), headers.join(" "));
});

test("a mail is a repeat, and part of a thread, only among mails of its own sender", async () => {
  const same = ["Message-ID: <1@corp.test>", "References: <0@corp.test>"];
  const mine = await read([EVIL, "From: m@evil.test", ...same]);
  const theirs = await read([GENUINE, FROM, ...same]);
  assert.ok("message" in mine && "message" in theirs);
  assert.equal(mine.message.messageId, theirs.message.messageId);
  assert.notEqual(mine.message.dedupeKey, theirs.message.dedupeKey);
  assert.notDeepEqual(mine.message.target, theirs.message.target);
});

test("ids that are too long to be stored are left out, and the mail is read", async () => {
  const long = `<${"x".repeat(300)}@corp.test>`;
  const headers = [
    `Message-ID: ${long}`,
    `References: ${long} <0@corp.test>`,
    `In-Reply-To: ${long}`,
  ];
  const mail = await read([GENUINE, FROM, ...headers]);
  assert.ok("message" in mail);
  const { messageId, threadId, replyToMessageId } = mail.message;
  assert.deepEqual(
    [messageId, threadId, replyToMessageId],
    ["<1.1@without-message-id>", "<0@corp.test>", undefined],
  );
});
