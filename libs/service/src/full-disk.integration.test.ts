import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import { SmallDisk } from "@switchyard/local-servers/small-disk";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { fixtureCall } from "../test/fixture-contract.ts";
import { startFixture } from "../test/service-process.ts";

// The test fills a disk, so it needs one of its own: where mounting is not permitted there is nothing to fill.
const disk = await SmallDisk.mount(await testDirectory());
const isFillable = typeof disk !== "string";
after(() => (isFillable ? disk.unmount() : undefined));

test(
  "is not ready while NATS has no disk left, fails at once, and recovers without a restart of its own",
  { skip: isFillable ? false : disk },
  async () => {
    if (!isFillable) return;
    const dataDir = `${disk.directory}/data`;
    const nats = await testNats({ dataDir, asProgram: true });
    const redis = await testRedis();
    const bus = await connectBus({ servers: nats.url, user: "caller" });
    after(() => bus.close());
    await ensureStreams(bus);
    const service = startFixture({ YARD_NATS_URL: nats.url, YARD_REDIS_URL: redis.url });
    const ready = await service.logged("service ready");
    const store = async () => (await call(bus, fixtureCall, { does: "store" })).key;
    const health = async () => {
      const response = await fetch(`${String(ready["healthUrl"])}/readyz`);
      return { status: response.status, text: await response.text() };
    };
    assert.equal(await store(), null);

    disk.fill();
    await untilRefused(store);
    const silent = service.logged("stream does not store; the disk of NATS may be full");
    const pending = store(); // an attempt is made from time to time, and waits
    const startedAt = performance.now();
    const codes = await Promise.all([store(), store()]);
    const tookMs = performance.now() - startedAt;
    for (const code of codes)
      assert.ok(code === "overloaded" || code === "no_responders", `${code}`);
    assert.ok(tookMs < 4_000, `${tookMs} ms is the timeout of a publish`);
    const { status, text } = await health();
    assert.equal(status, 503);
    assert.match(text, /"streams":"NATS is connected and stores nothing in YARD_FACTS: make room/);
    await pending;
    await silent;

    disk.makeRoom();
    await nats.stop();
    const restored = service.logged("bus connection restored");
    const again = await testNats({ dataDir, port: nats.port, asProgram: true });
    await restored;
    assert.equal(again.port, nats.port);
    // The test's own connection may come back later than the service's.
    await until(
      () => store().catch(String),
      (code) => code === null,
    );
    assert.equal((await health()).status, 200);
    service.child.kill("SIGTERM");
    assert.deepEqual(await service.exited, { code: 0, signal: null });
  },
);

/** A few messages still fit into what the file system had reserved. */
async function untilRefused(store: () => Promise<string | null>): Promise<void> {
  for (let attempt = 1; attempt <= 50; attempt += 1) {
    const code = await store();
    if (code === null) continue;
    // The server does not answer, or turns JetStream off when it notices while one stream copies from another one.
    assert.ok(code === "timeout" || code === "no_responders", code);
    return;
  }
  assert.fail("the disk took 50 messages although it is full");
}
