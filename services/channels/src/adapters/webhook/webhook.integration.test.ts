import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { after, beforeEach, suite, test } from "node:test";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import {
  checkWebhook,
  signedWebhookHeaders,
  webhookKey,
} from "@switchyard/service/standard-webhook";
import {
  adapterCall,
  adapterKit,
  loaded,
  memorySink,
  outgoing,
} from "../../../test-fixtures/adapter-world.ts";
import { webhook } from "./webhook.ts";

const secretOf = (bytes: Buffer) => `whsec_${bytes.toString("base64")}`;
const SECRET = secretOf(randomBytes(32));
const OLD_SECRET = secretOf(randomBytes(24));

/** The requests that the receiver got, and its answer: a status with a body, or none at all. */
const received: { headers: IncomingHttpHeaders; body: string }[] = [];
type Answer =
  | { status: number; body?: string | Buffer; headers?: Record<string, string> }
  | "reset"
  | "silent";
let answer: Answer = { status: 200 };
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    if (answer === "reset") request.socket.destroy();
    else if (answer !== "silent")
      response.writeHead(answer.status, answer.headers).end(answer.body ?? "");
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo; // it listens on TCP
const url = `http://127.0.0.1:${port}/in`;
after(() => {
  server.closeAllConnections();
  server.close();
});

const guardOf = (permitted: string) =>
  createEgressGuard({ permitted: parsePrivateHosts(permitted), setting: "SETTING" });
function open(config: object, permitted = "loopback") {
  const kit = { ...adapterKit("webhook"), guard: guardOf(permitted) };
  return webhook.create(webhook.config.parse(config), kit);
}
const both = {
  inbound: { secrets: [OLD_SECRET, SECRET] },
  outbound: { url, secret: SECRET },
};

function signed(body: unknown, { secret = SECRET, ageSeconds = 0, id = "msg-1" } = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const key = webhookKey(secret) ?? assert.fail("no secret");
  const nowMs = Date.now() - ageSeconds * 1_000;
  const headers = signedWebhookHeaders(key, { id, body: text, nowMs });
  return { method: "POST", path: "", headers, body: Buffer.from(text) };
}

suite("webhook", () => {
  beforeEach(() => {
    received.length = 0;
    answer = { status: 200 };
  });

  test("a signed request is a message of a person, a group or a thread; with either secret, once for each id [N8]", async () => {
    const adapter = open(both);
    const sink = memorySink();
    const first = { sender: { id: "ann", name: "Ann" }, text: "hello" };
    const taken = await adapter.receive?.(signed(first), sink);
    assert.equal(taken?.status, 202);
    assert.deepEqual(JSON.parse(taken?.body ?? ""), { messageId: "msg-1", outcome: "stored" });
    const again = await adapter.receive?.(signed(first, { secret: OLD_SECRET }), sink);
    assert.deepEqual(JSON.parse(again?.body ?? ""), { messageId: "msg-1", outcome: "known" });
    const other = {
      ...first,
      target: { kind: "group", id: "ops" },
      threadId: "t1",
      messageId: "m2",
      mentionsAccount: false,
      writtenAt: "2026-01-02T03:04:05Z",
    };
    await adapter.receive?.(signed(other, { id: "msg-2" }), sink);
    const [one, two] = sink.messages;
    assert.deepEqual(one?.target, { kind: "user", id: "ann" });
    assert.equal(one?.mentionsAccount, true);
    assert.deepEqual(
      [two?.target, two?.threadId, two?.messageId, two?.mentionsAccount],
      [{ kind: "group", id: "ops" }, "t1", "m2", false],
    );
    assert.equal(two?.writtenAt.toISOString(), "2026-01-02T03:04:05.000Z");
  });

  test("a body that is unsigned, too old or not a message is refused, and nothing is stored", async () => {
    const adapter = open(both);
    const sink = memorySink();
    const good = signed({ sender: { id: "ann" }, text: "x" });
    const foreign = secretOf(randomBytes(32));
    for (const [asked, status] of [
      [{ ...good, headers: {} }, 401],
      [{ ...good, body: Buffer.from("{}") }, 401],
      [signed({ sender: { id: "ann" }, text: "x" }, { secret: foreign }), 401],
      [signed({ sender: { id: "ann" }, text: "x" }, { ageSeconds: 400 }), 401],
      [signed("no json"), 422],
      [signed({ text: "nobody" }), 422],
      [signed({ sender: { id: "a" }, text: "x", owner: true }), 422],
    ] as const)
      assert.equal((await adapter.receive?.(asked, sink))?.status, status);
    assert.deepEqual(sink.messages, []);
    sink.refuseNext(1);
    await assert.rejects(async () => adapter.receive?.(good, sink), /cannot be asked/);
  });

  test("a message is posted with a signature and the key as its id; the receiver may name it [N2]", async () => {
    const adapter = open(both);
    answer = { status: 200, body: '{"messageId":"theirs-1"}' };
    const file = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from("abc"), sha256: "ab" };
    const sent = await adapter.send(
      outgoing("webhook", "ops", { text: "hello", threadId: "t", attachments: [file] }),
      adapterCall(),
    );
    assert.deepEqual(sent.messageIds, ["theirs-1"]);
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    const key = webhookKey(SECRET) ?? assert.fail("no secret");
    const header = (name: string) => String(headers[name]);
    const checked = checkWebhook([key], { header, body: Buffer.from(body), nowMs: Date.now() });
    assert.deepEqual(checked, { id: adapterCall().idempotencyKey });
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    assert.equal(type, "message");
    assert.deepEqual(data["target"], { kind: "channel", id: "ops" });
    assert.equal(data["threadId"], "t");
    assert.deepEqual(data["attachments"], [
      { name: "a.txt", mimeType: "text/plain", sha256: "ab", content: "YWJj" },
    ]);
    answer = { status: 204 };
    const unnamed = await adapter.send(outgoing("webhook", "ops"), adapterCall());
    assert.deepEqual(unnamed.messageIds, [adapterCall().idempotencyKey]);
  });

  test("an error status is a refusal, and a lost response is unknown [N6]", async () => {
    const adapter = open(both);
    const send = () => adapter.send(outgoing("webhook", "ops"), adapterCall(500));
    const cases: [Answer, string][] = [
      [{ status: 429, headers: { "retry-after": "2" } }, "rate_limited"],
      [{ status: 401 }, "not_allowed"],
      [{ status: 404 }, "invalid_target"],
      [{ status: 400 }, "provider_error"],
      [{ status: 503 }, "provider_error"],
      [{ status: 302, headers: { location: url } }, "provider_error"],
      [{ status: 500 }, "timeout_unknown"],
      [{ status: 502 }, "timeout_unknown"],
      ["reset", "timeout_unknown"],
      ["silent", "timeout_unknown"],
    ];
    for (const [said, code] of cases) {
      answer = said;
      received.length = 0;
      await assert.rejects(send(), { code }, JSON.stringify(said));
      assert.equal(received.length, 1, JSON.stringify(said));
    }
    answer = { status: 429, headers: { "retry-after": "2" } };
    await assert.rejects(send(), { retryAfterMs: 2_000 });
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port: free } = closed.address() as AddressInfo; // as above
    closed.close();
    const away = open({ outbound: { url: `http://127.0.0.1:${free}/`, secret: SECRET } });
    await assert.rejects(away.send(outgoing("webhook", "x"), adapterCall()), {
      code: "provider_error",
    });
  });

  test("a file of a message is loaded from its address, through redirects, within the limit", async () => {
    answer = { status: 200, body: "abc" };
    assert.equal(await loaded(open(both), url), "abc");
    assert.equal(await loaded(open(both), url, 2), "problem: it is larger than 2 bytes");
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    answer = { status: 200, headers: { "content-encoding": "gzip" }, body: bomb };
    assert.match(await loaded(open(both), url, 100_000), /larger than 100000 bytes/);
    answer = { status: 200, body: "abc" };
    assert.match(await loaded(open(both, ""), url), /SETTING/);
    answer = { status: 302, headers: { location: "http://10.0.0.1/x" } };
    assert.match(await loaded(open(both), url), /SETTING/);
    answer = { status: 302, headers: { location: url } };
    assert.match(await loaded(open(both), url), /redirects too often/);
  });

  test("a private address is refused unless it is permitted, and nothing is sent there", async () => {
    const adapter = open(both, "");
    await assert.rejects(adapter.send(outgoing("webhook", "x"), adapterCall()), {
      code: "not_allowed",
      message: /SETTING/,
    });
    assert.equal(received.length, 0);
  });

  test("one side can be left out, and a check requests the other one", async () => {
    assert.deepEqual(await open(both).check(adapterCall()), { identity: `127.0.0.1:${port}` });
    assert.equal((JSON.parse(received[0]?.body ?? "{}") as { type?: string }).type, "ping");
    const { inbound, outbound } = both;
    const mute = open({ inbound });
    assert.deepEqual(mute.capabilities.actions, []);
    assert.match((await mute.check(adapterCall())).identity, /\/hooks\/webhook\/main/);
    const deaf = open({ outbound: { ...outbound, knowsRepeats: true } });
    assert.equal("receive" in deaf, false);
    assert.equal(deaf.capabilities.idempotentSend, true);
    assert.throws(() => open({}), /inbound or outbound/);
    assert.throws(() => open({ inbound: { secrets: ["short"] } }), /whsec_/);
    assert.deepEqual(webhook.secrets(webhook.config.parse(both)), [OLD_SECRET, SECRET, SECRET]);
  });
});
