import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { ensureStreams } from "@switchyard/bus/streams";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import { builtInAgents } from "@switchyard/skills/catalogue/built-in-agents";
import { OUTBOX } from "../store/catalogue-commit.ts";
import { CatalogueStore } from "../store/catalogue-store.ts";
import { VersionStore } from "../store/version-store.ts";
import { createEventOutbox } from "./event-outbox.ts";

test("publishes after an outage of the bus the changes committed during it, each once", async () => {
  const [dataDir, redisServer] = await Promise.all([testDirectory(), testRedis()]);
  const nats = await testNats({ dataDir });
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: redisServer.url, name: "test", log });
  after(() => redis.disconnect());
  const restored = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  const bus = await connectBus({
    servers: nats.url,
    user: "importer",
    onStatus: (status) => {
      if (status === "reconnecting") lost.resolve();
      if (status === "connected") restored.resolve();
    },
  });
  after(() => bus.close());
  await ensureStreams(bus);
  const store = new CatalogueStore(redis, () => {});
  const failed = Promise.withResolvers<unknown>();
  const outbox = createEventOutbox({
    bus,
    store,
    versions: new VersionStore(redis, () => new Date(), { set: () => {} }),
    retryMs: 20,
    onFailure: failed.resolve,
  });
  const announcements = builtInAgents.map((agent, index) => ({
    id: String(index),
    at: "2026-01-01T00:00:00.000Z",
    kind: "agent" as const,
    summary: AgentSummary.parse(agent),
  }));

  await nats.stop();
  await lost.promise;
  await store.commit({ revision: "0" }, { listed: {} }, announcements);
  await outbox.flush();
  assert(await failed.promise, "the failure is logged");
  assert.equal(await redis.exists(OUTBOX), 1, "and nothing is lost");

  await testNats({ dataDir, port: nats.port });
  await restored.promise;
  const seen: string[] = [];
  const filters = ["yard.evt.agent.*.imported"];
  for await (const { subject } of readEvents(bus, { filters, from: "beginning" })) {
    seen.push(subject);
    if (seen.length === announcements.length) break;
  }
  assert.deepEqual(
    seen,
    builtInAgents.map(({ name }) => `yard.evt.agent.${name}.imported`),
  );
  await outbox.stop();
});
