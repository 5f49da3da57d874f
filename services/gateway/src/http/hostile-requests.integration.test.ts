import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { Hono } from "hono";
import type { GatewayEnv } from "../identity/request-context.ts";
import { BytesInWork } from "../identity/bytes-in-work.ts";
import { problemOf } from "../problems/problem.ts";
import { bodyLimits, readBody } from "../routes/read-body.ts";
import { CONNECTION_LIMITS } from "./guard-connections.ts";
import { listenHttp } from "./listen.ts";

/** The requests that the server accepted, as method and path. */
const taken: string[] = [];
const PER_ADDRESS = 20;
const LARGE = 16 * 1024 * 1024;
const app = new Hono<GatewayEnv>();
app.get("/large", (c) => c.text("x".repeat(LARGE)));
/** The errors of bodies that the gateway's own code refused. */
const refused: string[] = [];
app.post("/json", async (c) => {
  taken.push("POST /json");
  c.set("address", "127.0.0.1");
  c.set("held", new BytesInWork().begin());
  const problem = await readBody(c, bodyLimits(1_000)).then(() => null, problemOf);
  refused.push(`${problem?.status} ${problem?.code}`);
  return c.text("refused");
});
/** A request in work, whose answer waits for the test. */
const begun = Promise.withResolvers<void>();
const released = Promise.withResolvers<void>();
app.get("/slow", async (c) => {
  begun.resolve();
  await released.promise;
  return c.text("ok");
});
app.all("*", async (c) => {
  taken.push(`${c.req.method} ${c.req.path}`);
  await c.req.text();
  return c.text("ok");
});
const server = await listenHttp(app, {
  host: "127.0.0.1",
  port: 0,
  headersMs: 300,
  connections: {
    ...CONNECTION_LIMITS,
    graceMs: 600,
    readerGraceMs: 600,
    bytesPerSecond: 32 * 1024 * 1024,
    perAddress: PER_ADDRESS,
    unreadBytes: 2 * LARGE,
  },
});
after(() => server.stop());
const { port } = new URL(server.url);
const address = { host: "127.0.0.1", port: Number(port) };

/** Sends bytes unchanged; resolves with the whole answer when the server closes. Rejects when it does not in ten seconds. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(address);
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => (text += part));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
    socket.setTimeout(10_000, () => {
      socket.destroy();
      reject(new Error("the server keeps the connection"));
    });
    socket.write(bytes);
  });
}

/** Returns the code of a problem that the server closes the connection behind. */
function codeOf(answer: string): string {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  assert.match(head, /^Connection: close\r\nContent-Type: application\/problem\+json$/m);
  return (JSON.parse(body) as { code: string }).code; // problemBody() made it.
}

const HEAD = "POST /first HTTP/1.1\r\nHost: 127.0.0.1\r\n";
const CLOSING = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

test("no shape of a request lets another one be smuggled behind it", async () => {
  const shapes = {
    "both lengths": `${HEAD}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    "two lengths": `${HEAD}Content-Length: 0\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    "a length with a sign": `${HEAD}Content-Length: +0\r\n\r\n${HIDDEN}`,
    "an encoding that is not the last": `${HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${HIDDEN}`,
    "a space before the colon": `${HEAD}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    "a folded header": `${HEAD}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
    "a bare line feed": `${HEAD}X-A: b\nContent-Length: 0\r\n\r\n${HIDDEN}`,
    "a chunk of no size": `${HEAD}Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n${HIDDEN}`,
  };
  for (const [shape, bytes] of Object.entries(shapes)) {
    taken.length = 0;
    const answer = await raw(bytes);
    assert.equal(taken.includes("GET /hidden"), false, `${shape}: ${answer}`);
    assert.match(answer, /^HTTP\/1\.1 400 /m, shape);
    assert.equal(codeOf(answer), "malformed_request", shape);
  }
});

test("headers that are too long are refused", async () => {
  taken.length = 0;
  const answer = await raw(`GET /first HTTP/1.1\r\nHost: x\r\nX-A: ${"a".repeat(40_000)}\r\n\r\n`);
  assert.match(answer, /^HTTP\/1\.1 431 /);
  assert.equal(codeOf(answer), "headers_too_large");
  assert.deepEqual(taken, []);
});

test("who sends headers or a body slowly is cut off", async () => {
  assert.match(await raw("GET /first HTTP/1.1\r\nHost: x\r\nX-"), /^HTTP\/1\.1 408 |^$/);
  const body = await raw(`${HEAD}Content-Length: 100\r\n\r\nonly the beginning`);
  assert.match(body, /^HTTP\/1\.1 408 /m);
  assert.equal(codeOf(body), "request_timeout");
});

test("a body that ends early or is encoded is the client's error and no fault", async () => {
  const socket = connect(address);
  socket.write(`POST /json HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{`);
  await until(() => socket.bytesWritten > 0 && taken.includes("POST /json"));
  socket.destroy();
  await until(() => refused.length === 1);
  await raw(
    `POST /json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx`,
  );
  assert.deepEqual(refused, ["400 malformed_json", "415 unsupported_media_type"]);
});

test("an address has no more connections than it may", async () => {
  const open = Array.from({ length: PER_ADDRESS }, () => connect(address));
  await Promise.all(open.map((socket) => once(socket, "connect")));
  const further = connect(address);
  await closed(further);
  for (const socket of open) socket.destroy();
  await Promise.all(open.map(closed));
  await until(async () => (await raw(CLOSING)).endsWith("ok"));
});

/** Requests a large answer and reads none of it; resolves when the server has cut the connection. */
async function readNothing(): Promise<void> {
  const socket = connect(address);
  socket.pause();
  socket.write("GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  // A paused socket notices its end only when it writes.
  const writing = setInterval(() => socket.write("x"), 100);
  await closed(socket);
  clearInterval(writing);
}

function closed(socket: Socket): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers();
  socket.on("error", () => undefined).once("close", resolve);
  return promise;
}

test("a client that reads nothing of its answer is cut", () => readNothing());

test("answers that no client reads are cut, the largest first, when they hold too much together", async () => {
  await Promise.all(Array.from({ length: 5 }, readNothing));
  assert.ok((await raw(CLOSING)).endsWith("ok"));
});

test("a stop waits for requests in work, and not for connections without one", async () => {
  const stopping = await listenHttp(app, { host: "127.0.0.1", port: 0 });
  const at = { host: "127.0.0.1", port: Number(new URL(stopping.url).port) };
  const [silent, half, slow] = [connect(at), connect(at), connect(at)];
  let text = "";
  slow.setEncoding("utf8").on("data", (part: string) => (text += part));
  await Promise.all([silent, half, slow].map((socket) => once(socket, "connect")));
  half.write("GET /half HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  slow.write("GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  const slowClosed = closed(slow);
  // Connections are accepted in their order, so the others are there, too.
  await begun.promise;
  const stopped = stopping.stop();
  await Promise.all([silent, half].map(closed));
  released.resolve();
  await slowClosed;
  await stopped;
  assert.ok(text.endsWith("ok"), text);
});
