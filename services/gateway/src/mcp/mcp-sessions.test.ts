import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { SessionTransport } from "./mcp-sessions.ts";

const HEADERS = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-session-id": "s-1",
};

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "a", version: "1" },
  },
};

/** A session whose requests the test answers. */
async function startedSession(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const transport = new SessionTransport({
    sessionIdGenerator: () => "s-1",
    onsessioninitialized: () => {},
  });
  const received: JSONRPCMessage[] = [];
  // oxlint-disable-next-line prefer-add-event-listener -- a transport has no other way
  transport.onmessage = (message) => void received.push(message);
  await transport.start();
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    transport.handleRequest(
      new Request("http://127.0.0.1/mcp", { method: "POST", headers: { ...HEADERS, ...headers } }),
      { parsedBody: body },
    );
  const begun = post(initialize);
  await new Promise(setImmediate);
  await transport.send({ jsonrpc: "2.0", id: 0, result: {} });
  assert.equal((await begun).headers.get("mcp-session-id"), "s-1");
  return { transport, received, post };
}

const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "a" } });
const answer = (id: number) => ({ jsonrpc: "2.0" as const, id, result: { content: [] } });
const progress = {
  jsonrpc: "2.0" as const,
  method: "notifications/progress",
  params: { progressToken: 1, progress: 1 },
};
const messagesIn = async (response: Response) =>
  [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
    ([, text = ""]) => JSON.parse(text) as unknown,
  );

test("a single answer that comes soon is JSON, and has the session's id", async (t) => {
  const { transport, received, post } = await startedSession(t);
  const called = post(call(1));
  await transport.send(answer(1));
  const response = await called;
  const { headers } = response;
  assert.deepEqual(
    [headers.get("content-type"), headers.get("mcp-session-id")],
    ["application/json", "s-1"],
  );
  assert.deepEqual(await response.json(), answer(1));
  assert.equal(received.length, 2);
});

test("a late answer, one after other messages, and those of a batch are a stream", async (t) => {
  const { transport, post } = await startedSession(t);
  const late = post(call(1));
  t.mock.timers.tick(2_000);
  const stream = await late;
  assert.equal(stream.headers.get("content-type"), "text/event-stream");
  t.mock.timers.tick(15_000);
  await transport.send(answer(1));
  assert.match(await stream.text(), /^: keepalive\n\nevent: message\ndata: .*"id":1/);

  const noted = post(call(2));
  await transport.send(progress, { relatedRequestId: 2 });
  await transport.send(answer(2));
  assert.deepEqual(await messagesIn(await noted), [progress, answer(2)]);

  const batch = post([call(3), call(4)]);
  await transport.send(answer(4));
  await transport.send(answer(3));
  assert.deepEqual(await messagesIn(await batch), [answer(4), answer(3)]);
});

test("messages about a request whose client has disconnected are dropped, and the end of the session ends replies", async (t) => {
  const { transport, post } = await startedSession(t);
  const left = post(call(1));
  await transport.send(progress, { relatedRequestId: 1 });
  await (await left).body?.cancel();
  await transport.send(progress, { relatedRequestId: 1 });

  const open = [post(call(2)), post(call(3))];
  await transport.send(progress, { relatedRequestId: 2 });
  await transport.close();
  assert.deepEqual(
    await Promise.all(open.map(async (one) => (await messagesIn(await one)).length)),
    [1, 0],
  );
});

test("malformed requests of a session are refused by the SDK", async (t) => {
  const { post } = await startedSession(t);
  const statuses = [
    (await post(call(1), { accept: "application/json" })).status,
    (await post(call(1), { "mcp-protocol-version": "1999-01-01" })).status,
    (await post([call(1), initialize])).status,
  ];
  assert.deepEqual(
    statuses.map((status) => status >= 400),
    [true, true, true],
  );
});
