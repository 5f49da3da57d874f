import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from "node:net";
import { after, test } from "node:test";
import { connect } from "@nats-io/transport-node";
import { testNats } from "@switchyard/testing/test-servers";
import { Outbox } from "./outbox.ts";

const nats = await testNats();
const writes: string[] = [];
const proxy = createServer((near) => relay(near));
proxy.listen(0, "127.0.0.1");
await once(proxy, "listening");
const { port } = proxy.address() as AddressInfo; // a TCP server has an address with a port
const nc = await connect({ servers: `127.0.0.1:${port}` });
const received: string[] = [];
nc.subscribe("said.*", {
  callback: (_error, message) => {
    received.push(`${message.subject} ${message.string()}`);
  },
});
await nc.flush();
after(async () => {
  await nc.close();
  proxy.close();
  await once(proxy, "close");
});

/** Forwards everything, and records in which pieces the client sent it. */
function relay(near: Socket): void {
  const far = connectTcp(Number(new URL(nats.url).port), "127.0.0.1");
  near.on("data", (chunk) => writes.push(chunk.toString()));
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
}

test("of what is sent in one turn of the event loop the first leaves at once, the rest in one piece, in order", async () => {
  const outbox = new Outbox(nc);
  writes.length = 0;
  received.length = 0;
  outbox.send({ subject: "said.first", body: "1" });
  // A promise that settles in between used to make the client library write at once.
  await Promise.resolve();
  outbox.send({ subject: "said.second", body: new TextEncoder().encode("2") });
  await Promise.resolve();
  outbox.send({ subject: "said.third", body: "3", reply: "said.answer" });
  await new Promise((resolve) => setImmediate(resolve));
  await nc.flush();
  assert.deepEqual(received, ["said.first 1", "said.second 2", "said.third 3"]);
  const pieces = writes.filter((piece) => piece.includes("PUB"));
  assert.match(pieces.at(-1) ?? "", /said\.second[^]*said\.third said\.answer/);
});

test("after a turn with several messages all of the next leave in one piece, in order", async () => {
  const outbox = new Outbox(nc);
  const turn = async (...subjects: string[]): Promise<void> => {
    for (const subject of subjects) {
      outbox.send({ subject, body: "" });
      await Promise.resolve();
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  received.length = 0;
  await turn("said.a", "said.b");
  await nc.flush();
  writes.length = 0;
  await turn("said.c", "said.d");
  await nc.flush();
  assert.ok(writes.some((piece) => /said\.c[^]*said\.d/.test(piece)));
  assert.deepEqual(received, ["said.a ", "said.b ", "said.c ", "said.d "]);
});

test("a flush sends at once, and only once", async () => {
  const outbox = new Outbox(nc);
  received.length = 0;
  outbox.send({ subject: "said.before", body: "w" });
  outbox.send({ subject: "said.now", body: "x" });
  outbox.flush();
  outbox.flush();
  await nc.flush();
  await new Promise((resolve) => setImmediate(resolve));
  await nc.flush();
  assert.deepEqual(received, ["said.before w", "said.now x"]);
});

test("a message that the client library refuses is reported to its sender, and the others are sent", async () => {
  const outbox = new Outbox(nc);
  received.length = 0;
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  outbox.send({ subject: "", body: "at once", onError });
  outbox.send({ subject: "", body: "later", onError });
  outbox.send({ subject: "said.after", body: "y" });
  outbox.flush();
  await nc.flush();
  assert.equal(errors.length, 2);
  assert.deepEqual(received, ["said.after y"]);
});
