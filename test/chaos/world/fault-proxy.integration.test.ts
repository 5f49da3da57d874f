import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, test } from "node:test";
import { startFaultProxy } from "./fault-proxy.ts";

// A server that sends everything back.
const accepted = new Set<Socket>();
const server = createServer((socket) => {
  accepted.add(socket);
  socket.on("error", () => {}); // the proxy breaks connections on purpose
  socket.pipe(socket);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const proxy = await startFaultProxy({ port: (server.address() as AddressInfo).port }); // listening on TCP
after(async () => {
  await proxy.close();
  for (const socket of accepted) socket.destroy();
  server.close();
  await once(server, "close");
});

interface Client {
  readonly socket: Socket;
  /** Resolves when the text has come, after everything that was waited for before. */
  readonly received: (text: string) => Promise<void>;
  readonly text: () => string;
  /** Resolves with the code of the error that ended the connection, or null. */
  readonly gone: Promise<string | null>;
}

async function client(): Promise<Client> {
  const socket = connect(proxy.port, "127.0.0.1");
  let text = "";
  let received = (): void => {};
  socket.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
    received();
  });
  let code: string | null = null;
  socket.on("error", (error: NodeJS.ErrnoException) => (code = error.code ?? "unknown"));
  const gone = new Promise<string | null>((resolve) => socket.once("close", () => resolve(code)));
  await once(socket, "connect");
  return {
    socket,
    gone,
    text: () => text,
    received: (wanted) =>
      new Promise((resolve) => {
        received = () => {
          if (text.includes(wanted)) resolve();
        };
        received();
      }),
  };
}

test("passes everything on, and an end as an end", async () => {
  const { socket, received, gone } = await client();
  socket.write("hello");
  await received("hello");
  socket.end();
  assert.equal(await gone, null);
});

test("holds everything back in a black hole and lets it come afterwards", async () => {
  const { socket, received, text } = await client();
  socket.write("before");
  await received("before");
  proxy.inject({ kind: "blackhole" });
  const late = await client(); // it is accepted, and receives nothing
  socket.write("inside");
  late.socket.write("late");
  // Longer than loopback ever takes: later bytes have passed the black hole.
  const other = connect((server.address() as AddressInfo).port, "127.0.0.1");
  other.write("ping");
  await once(other, "data");
  other.destroy();
  assert.equal(text(), "before");
  assert.equal(late.text(), "");
  proxy.heal();
  await Promise.all([received("inside"), late.received("late")]);
  assert.equal(text(), "beforeinside");
  socket.destroy();
  late.socket.destroy();
});

test("keeps the order when latency begins and ends", async () => {
  const { socket, received, text } = await client();
  proxy.inject({ kind: "latency", ms: 30 });
  socket.write("one ");
  proxy.inject({ kind: "latency", ms: 1 });
  socket.write("two ");
  proxy.heal();
  socket.write("three");
  await received("three");
  assert.equal(text(), "one two three");
  socket.destroy();
});

test("breaks connections with RST, and new ones while it lasts", async () => {
  const { gone } = await client();
  proxy.inject({ kind: "reset" });
  assert.equal(await gone, "ECONNRESET");
  const socket = connect(proxy.port, "127.0.0.1");
  socket.on("error", () => {}); // the bytes that it receives
  await new Promise((resolve) => socket.once("close", resolve));
  proxy.heal();
  const again = await client();
  again.socket.write("back");
  await again.received("back");
  again.socket.destroy();
});

test("cuts a connection after so many bytes of both directions", async () => {
  const { socket, gone, text } = await client();
  proxy.inject({ kind: "cut", bytes: 15 });
  socket.write("0123456789"); // 10 there, 5 of them back
  assert.equal(await gone, "ECONNRESET");
  assert.ok("01234".startsWith(text()), `a reset may overtake what came before it, not ${text()}`);
  proxy.heal();
});
