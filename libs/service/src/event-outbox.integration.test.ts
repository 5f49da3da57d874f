import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { publishOutbox } from "./event-outbox.ts";
import { createLog } from "./log.ts";
import { connectRedis } from "./redis.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

test("texts are published in their order and leave the list; one that fails stays, with those behind it", async () => {
  await redis.rpush("outbox", "a", "b", "c");
  const published: string[] = [];
  let isAway = true;
  const publish = async (text: string) => {
    if (text === "b" && isAway) throw new Error("the bus is away");
    published.push(text);
  };
  await assert.rejects(publishOutbox(redis, "outbox", { atOnce: 1, publish }), /the bus is away/);
  assert.deepEqual(await redis.lrange("outbox", 0, -1), ["b", "c"]);
  isAway = false;
  await publishOutbox(redis, "outbox", { atOnce: 1, publish });
  assert.deepEqual(published, ["a", "b", "c"]);
  assert.equal(await redis.exists("outbox"), 0);
});

test("several are published side by side until the list is empty", async () => {
  const texts = Array.from({ length: 25 }, (_, n) => `t${n}`);
  await redis.rpush("wide", ...texts);
  let underWay = 0;
  let most = 0;
  const published: string[] = [];
  const publish = async (text: string) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    published.push(text);
  };
  await publishOutbox(redis, "wide", { atOnce: 10, publish });
  assert.deepEqual(published.toSorted(), texts.toSorted());
  assert.equal(most, 10);
});

test("it ends between two texts when it is stopped", async () => {
  await redis.rpush("stopped", "a", "b");
  let isStopped = false;
  const publish = async () => {
    isStopped = true;
  };
  await publishOutbox(redis, "stopped", { atOnce: 1, publish, isStopped: () => isStopped });
  assert.deepEqual(await redis.lrange("stopped", 0, -1), ["b"]);
});
