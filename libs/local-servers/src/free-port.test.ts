import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { freePort, isFree, startOnFreePort } from "./free-port.ts";
import { ServerStartError } from "./server-process.ts";

test("each free port is chosen once, and systems give none of them to outgoing connections", async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()));
  assert.equal(new Set(ports).size, ports.length);
  for (const port of ports) assert.ok(port >= 16_384 && port < 32_768, String(port));
});

test("a port with a listener is not free", async () => {
  const port = await freePort();
  assert.equal(await isFree(port), true);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  assert.equal(await isFree(port), false);
  server.close();
});

test("a server whose port is taken by another process starts on another port", async () => {
  const tried: number[] = [];
  const port = await startOnFreePort(async (chosen) => {
    tried.push(chosen);
    if (tried.length < 3) throw new ServerStartError("it ended", "bind: Address already in use");
    return chosen;
  });
  assert.equal(new Set(tried).size, 3);
  assert.equal(port, tried.at(-1));
});

test("a start that fails for another reason, or again and again, is reported", async () => {
  let attempts = 0;
  const failing = (output: string) => async () => {
    attempts += 1;
    throw new ServerStartError("it ended", output);
  };
  await assert.rejects(startOnFreePort(failing("no space left")), /no space left/);
  assert.equal(attempts, 1);
  await assert.rejects(startOnFreePort(failing("address already in use")), /already in use/);
  assert.equal(attempts, 6);
});
