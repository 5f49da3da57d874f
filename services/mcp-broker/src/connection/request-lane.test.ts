import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  UrlElicitationRequiredError,
  type JSONRPCMessage,
  type Progress,
} from "@modelcontextprotocol/client";
import { lineLength, RequestLane } from "./request-lane.ts";

function lab(send: () => Promise<void> = () => Promise.resolve()) {
  const sent: Record<string, unknown>[] = [];
  const lane = new RequestLane((message) => {
    sent.push({ ...message });
    return send();
  });
  const caller = new AbortController();
  const begin = (more: { timeoutMs?: number; onProgress?: (progress: Progress) => void } = {}) =>
    lane.request({
      method: "tools/call",
      params: { name: "t", _meta: { traceparent: "p" } },
      timeoutMs: 60_000,
      signal: caller.signal,
      ...more,
    });
  const receive = (message: object) =>
    lane.take({ jsonrpc: "2.0", ...message } as JSONRPCMessage, 70);
  return { lane, sent, caller, begin, hear: receive };
}

test("each request gets its own answer, also under an id that is written as a text", async () => {
  const { sent, begin, hear: receive } = lab();
  const [first, second] = [begin(), begin()];
  const [a, b] = sent.map(({ id }) => id);
  assert.notEqual(a, b);
  assert.ok(receive({ id: String(b), result: { of: "second" } }));
  assert.ok(receive({ id: a, result: { of: "first" } }));
  const answers = await Promise.all([first, second]);
  assert.deepEqual(answers, [{ of: "first" }, { of: "second" }]);
  assert.equal(lineLength(Object(answers[0])), 70);
});

test("messages of the protocol layer are left to it, and a late answer is dropped", async () => {
  const { sent, begin, hear: receive } = lab();
  const asked = begin();
  assert.equal(receive({ id: 3, result: {} }), false);
  assert.equal(receive({ method: "notifications/progress", params: { progressToken: 3 } }), false);
  assert.equal(receive({ method: "notifications/message", params: {} }), false);
  const answer = { id: sent[0]?.["id"], result: {} };
  assert.ok(receive(answer));
  await asked;
  assert.ok(receive(answer));
});

test("an error is the protocol's, and addresses to open are found in it", async () => {
  const { sent, begin, hear: receive } = lab();
  const asked = [begin(), begin()];
  receive({ id: sent[0]?.["id"], error: { code: -32_602, message: "no such tool" } });
  const elicitations = [
    { mode: "url", url: "https://x.example", elicitationId: "1", message: "m" },
  ];
  receive({
    id: sent[1]?.["id"],
    error: { code: -32_042, message: "open", data: { elicitations } },
  });
  const [refused, wants] = await Promise.allSettled(asked);
  assert.ok(refused?.status === "rejected" && refused.reason instanceof ProtocolError);
  assert.match(refused.reason.message, /no such tool/);
  assert.ok(wants?.status === "rejected" && wants.reason instanceof UrlElicitationRequiredError);
  assert.deepEqual(wants.reason.elicitations, elicitations);
});

test("progress is delivered until the answer, beside the request's other metadata", async () => {
  const { sent, begin, hear: receive } = lab();
  const received: Progress[] = [];
  const asked = begin({ onProgress: (progress) => received.push(progress) });
  const { id, params } = sent[0] ?? {};
  assert.deepEqual(params, { name: "t", _meta: { traceparent: "p", progressToken: id } });
  const report = (progress: unknown) =>
    receive({
      method: "notifications/progress",
      params: { progressToken: id, progress, total: 4 },
    });
  assert.ok(report(1));
  assert.ok(report("nonsense"));
  receive({ id, result: {} });
  await asked;
  assert.ok(report(2));
  assert.deepEqual(received, [{ progress: 1, total: 4 }]);
});

test("an aborted or expired request is cancelled at the server", async () => {
  const { sent, caller, begin } = lab();
  const short = begin({ timeoutMs: 1 });
  await assert.rejects(short, { code: SdkErrorCode.RequestTimeout });
  const long = begin();
  caller.abort("the caller cancelled the call");
  await assert.rejects(long, { code: SdkErrorCode.RequestTimeout });
  await assert.rejects(begin(), { code: SdkErrorCode.RequestTimeout });
  const [one, cancelOne, two, cancelTwo] = sent;
  assert.equal(sent.length, 4);
  assert.deepEqual(cancelOne?.["params"], {
    requestId: one?.["id"],
    reason: "SdkError: Request timed out",
  });
  assert.deepEqual(cancelTwo?.["params"], {
    requestId: two?.["id"],
    reason: "the caller cancelled the call",
  });
});

test("requests end with the connection, and with one that cannot be written to", async () => {
  const { lane, begin } = lab();
  const asked = begin();
  lane.close();
  await assert.rejects(asked, { code: SdkErrorCode.ConnectionClosed });
  const gone = new SdkError(SdkErrorCode.NotConnected, "the server process is not running");
  await assert.rejects(lab(() => Promise.reject(gone)).begin(), gone);
});
