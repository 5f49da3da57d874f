import assert from "node:assert/strict";
import { after, test } from "node:test";
import { cuttingProxy } from "@switchyard/testing/test-proxy";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { PINS_CHANNEL } from "./pin-store.ts";
import { watchPins } from "./start-pinning.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const admin = await connectRedis({ url: server.url, name: "test", log });
after(() => admin.disconnect());

// node:test fails a test during which a rejection is left unhandled.
test("survives a connection that is cut each time it subscribes, and receives again when it lasts", async () => {
  const proxy = await cuttingProxy(server.port);
  const redis = await connectRedis({ url: `redis://127.0.0.1:${proxy.port}`, name: "test", log });
  const written: string[] = [];
  let troubles = 0;
  const watch = watchPins(redis, {
    onWritten: (name) => void written.push(name),
    onGap: () => {},
    onTrouble: () => (troubles += 1),
  });
  after(() => {
    watch.close();
    redis.disconnect();
    proxy.close();
  });
  const isReceived = async (name: string): Promise<boolean> => {
    await admin.publish(PINS_CHANNEL, name);
    return written.includes(name);
  };
  await until(() => isReceived("first"));
  // It had a subscription, which is when the client would subscribe again by itself.
  proxy.cutAt(/\bsubscribe\b/i, 3);
  proxy.cutAll();
  await until(() => proxy.cutsLeft() === 0);
  await until(() => isReceived("second"));
  assert.ok(troubles >= 3, `${troubles} troubles`);
});
