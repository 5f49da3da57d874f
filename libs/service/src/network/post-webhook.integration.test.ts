import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { checkWebhook } from "../standard-webhook.ts";
import { createEgressGuard, parsePrivateHosts } from "./egress-guard.ts";
import { postWebhook, type WebhookPost } from "./post-webhook.ts";

let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
const server = createServer((request, response) => {
  void text(request).then((body) => answer(request, response, body));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => {
  server.closeAllConnections();
  server.close();
});

const { port } = server.address() as AddressInfo; // It listens on a port.
const url = `http://127.0.0.1:${port}/`;
const guardOf = (permitted: string) =>
  createEgressGuard({ permitted: parsePrivateHosts(permitted), setting: "YARD_TEST" });
const post = (more: Partial<WebhookPost> = {}) =>
  postWebhook({
    guard: guardOf("loopback"),
    url,
    body: '{"a":1}',
    headers: { "user-agent": "test" },
    signing: null,
    signal: AbortSignal.timeout(10_000),
    ...more,
  });

test("a signed body arrives, and a success returns its text", async () => {
  const key = Buffer.alloc(32, 1);
  let got: unknown;
  answer = (request, response, body) => {
    const header = (name: string) => request.headers[name]?.toString();
    const bytes = Buffer.from(body);
    got = [header("user-agent"), body, checkWebhook([key], { header, body: bytes, nowMs: 5_000 })];
    response.writeHead(201).end('{"messageId":"m"}');
  };
  const sent = await post({ signing: { key, id: "msg_1", nowMs: 5_000 } });
  assert.deepEqual(got, ["test", '{"a":1}', { id: "msg_1" }]);
  assert.deepEqual(sent, {
    kind: "answered",
    status: 201,
    retryAfterMs: null,
    text: '{"messageId":"m"}',
  });
});

test("an error status and a redirect are answers, and nothing is followed", async () => {
  let requests = 0;
  answer = (_request, response) => {
    requests += 1;
    response.writeHead(requests === 1 ? 429 : 302, { "retry-after": "7", location: url }).end("x");
  };
  const limited = { kind: "answered", status: 429, retryAfterMs: 7_000, text: null };
  assert.deepEqual(await post(), limited);
  assert.deepEqual(await post(), { ...limited, status: 302 });
  assert.equal(requests, 2);
});

test("a wait is stated in seconds or by a date, and a text that is neither states none", async () => {
  const waitFor = async (stated: string): Promise<number | null> => {
    answer = (_request, response) => response.writeHead(503, { "retry-after": stated }).end();
    const sent = await post();
    return sent.kind === "answered" ? sent.retryAfterMs : assert.fail(sent.kind);
  };
  assert.equal(await waitFor("1.5"), 1_500);
  assert.equal(await waitFor("-3"), 0);
  assert.equal(await waitFor("soon"), null);
  assert.equal(await waitFor("Wed, 21 Oct 2015 07:28:00 GMT"), 0);
  const inAnHour = await waitFor(new Date(Date.now() + 3_600_000).toUTCString());
  assert.ok(inAnHour !== null && inAnHour > 3_500_000 && inAnHour <= 3_600_000, String(inAnHour));
});

test("the text of a success that is too long or cut off is null", async () => {
  answer = (_request, response) => response.end("x".repeat(65 * 1_024));
  const long = await post();
  assert.equal(long.kind === "answered" && long.text, null);
  answer = (_request, response) => {
    response.writeHead(200, { "content-length": 100 }).write("x", () => response.destroy());
  };
  const cut = await post();
  assert.deepEqual(cut.kind === "answered" && [cut.status, cut.text], [200, null]);
});

test("a lost answer leaves the outcome open, and a refused connection does not", async () => {
  answer = (request) => request.socket.destroy();
  const lost = await post();
  assert.deepEqual(lost.kind !== "answered" && [lost.kind, lost.wasConnected], ["failed", true]);
  const nowhere = await post({ url: `http://127.0.0.1:${await freePort()}/` });
  assert.deepEqual(nowhere.kind !== "answered" && [nowhere.kind, nowhere.wasConnected], [
    "failed",
    false,
  ]);
  assert.equal(nowhere.kind !== "answered" && nowhere.error.code, "ECONNREFUSED");
});

test("the signal ends a request that gets no answer", async () => {
  answer = () => undefined;
  const late = await post({ signal: AbortSignal.timeout(200) });
  assert.deepEqual(late.kind !== "answered" && [late.kind, late.wasConnected], ["timeout", true]);
});

test("an address that the guard refuses, by number or by name, and none at all get no request", async () => {
  const guard = guardOf("");
  let requests = 0;
  answer = (_request, response) => {
    requests += 1;
    response.end();
  };
  for (const refused of [url, `http://localhost:${port}/`, "nowhere"]) {
    const sent = await post({ guard, url: refused });
    assert.deepEqual(sent.kind !== "answered" && [sent.kind, sent.wasConnected], [
      "refused",
      false,
    ]);
  }
  assert.equal(requests, 0);
});
