import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createMailbox } from "./mailbox-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

test("a mailbox keeps the newest 1,000 messages and their keys, and no key of an older one", async () => {
  const mailbox = createMailbox(redis);
  const address = {
    channel: "webchat",
    accountId: "main",
    target: { kind: "user", id: "ada" },
  } as const;
  const author = { id: "main", name: "webchat/main" };
  const add = (n: number) =>
    mailbox.add(
      address,
      { author, text: `message ${n}`, isOwn: true, attachments: [] },
      `key-${n}`,
    );
  for (let n = 1; n <= 1_003; n += 1) await add(n);
  const [box = ""] = await redis.keys("yard:{channels}:mailbox:*:keys");
  assert.equal(await redis.hlen(box), 1_000);
  assert.equal(await redis.hlen(box.replace(/:keys$/, ":sent")), 1_000);
  assert.equal((await mailbox.list(address)).length, 1_000);
  assert.deepEqual([(await add(1_003)).isNew, (await add(4)).isNew], [false, false]);
  assert.equal((await add(3)).isNew, true, "its message is gone");
});
