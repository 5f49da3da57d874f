import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { until } from "@switchyard/local-servers/until";
import { createHttpTransport } from "./http-transport.ts";

const guard = createEgressGuard({
  permitted: parsePrivateHosts("loopback"),
  setting: "YARD_TEST",
});
const LIMIT = 10_000;
const request = { jsonrpc: "2.0", id: 1, method: "tools/list" } as const;

/** A transport to a server that answers every request alike, with what it reported. */
async function connectTo(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const link = createHttpTransport({
    kind: "http",
    url,
    headers: { "X-Key": "k" },
    guard,
    maxMessageBytes: LIMIT,
  });
  const { transport } = link;
  const failed = Promise.withResolvers<Error>();
  const messages: unknown[] = [];
  Object.assign(transport, {
    onerror: failed.resolve,
    onmessage: (message: unknown) => messages.push(message),
  });
  await transport.start();
  after(() => link.close());
  return { transport, failed: failed.promise, messages };
}

test("stops reading a JSON answer above the limit", async () => {
  const { transport } = await connectTo((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(" ".repeat(LIMIT + 1)); // and it never ends
  });
  await assert.rejects(transport.send(request), /a message exceeds the limit of 10000 bytes/);
});

test("stops reading one event above the limit, and takes any number of events below it", async () => {
  const event = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { pad: "x".repeat(3_000) } })}\n\n`;
  const stream = Promise.withResolvers<ServerResponse>();
  const { transport, failed, messages } = await connectTo((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let n = 0; n < 10; n += 1) response.write(event);
    stream.resolve(response);
  });
  const answered = assert.rejects(
    transport.send(request),
    /the stream of the answer ended before the answer/,
  );
  await until(
    () => messages.length,
    (count) => count === 10,
  );
  (await stream.promise).write("data: ".padEnd(LIMIT + 1, "x"));
  assert.match((await failed).message, /a message exceeds the limit of 10000 bytes/);
  await answered;
});

test("does not follow a redirect to another origin with its headers", async () => {
  const received: string[] = [];
  const other = createServer((incoming, response) => {
    received.push(String(incoming.headers["x-key"]));
    response.end();
  }).listen(0, "127.0.0.1");
  after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo; // it listens on TCP
  const { transport } = await connectTo((_, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${port}/mcp` }).end();
  });
  await assert.rejects(transport.send(request));
  assert.deepEqual(received, []);
});
