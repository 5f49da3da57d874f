import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { testConstants } from "@switchyard/testing/test-constants";
import { startGatewayWorld } from "../../test/gateway-world.ts";

const READERS = 10_000;
const AT_ONCE = 200;

const world = await startGatewayWorld();
const { url } = await world.startGatewayProcess(
  testConstants({ httpStreamsPerCaller: READERS, httpConnectionsPerAddress: READERS + 100 }),
);
const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

/** Opens a stream of events in which no event is published; resolves with its status. */
async function open(key: string): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  const lines = ["GET /api/v1/events HTTP/1.1", `Host: ${host}`, `Authorization: Bearer ${key}`];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  return head.toString().split(" ")[1] ?? "";
}

test("10,000 idle readers keep no other caller from being served, are no more than the limit, and leave nothing behind", async () => {
  const { key } = await world.keyOf("idle", ["viewer"]);
  for (let opened = 0; opened < READERS; opened += AT_ONCE) {
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => open(key)));
    assert.deepEqual(new Set(statuses), new Set(["200"]), `after ${opened}`);
  }
  assert.equal(await open(key), "429");
  const { key: other } = await world.keyOf("busy", ["viewer"]);
  const answer = await fetch(`${url}/api/v1/me`, {
    headers: { authorization: `Bearer ${other}` },
    signal: AbortSignal.timeout(30_000),
  });
  assert.equal(answer.status, 200);
  assert.equal(await open(other), "200");
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(async () => (await open(key)) === "200");
});
