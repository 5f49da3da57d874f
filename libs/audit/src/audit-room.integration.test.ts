import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { openAuditRoom, RESERVED_FROM, type AuditRoom } from "./audit-room.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());
const JANUARY = Date.parse("2030-01-15T00:00:00.000Z");
const MONTH_MS = 31 * 24 * 3_600_000;

let filled = 0;
let now = JANUARY;

async function open(service: string): Promise<AuditRoom> {
  const room = await openAuditRoom({
    redis,
    service,
    fill: () => Promise.resolve(filled),
    now: () => now,
    onTrouble: (error) => assert.fail(String(error)),
    everyMs: 20,
  });
  after(() => room.stop());
  return room;
}

function record(room: AuditRoom, user: string, times: number): void {
  for (let time = 0; time < times; time += 1) room.count(user);
}

test("the last tenth of the audit is for those who did not fill it, whichever replica counted", async () => {
  const [room, replica] = [await open("policy"), await open("policy")];
  record(room, "team-a", 500);
  record(replica, "team-a", 500);
  record(replica, "team-b", 10);
  filled = RESERVED_FROM - 0.01;
  assert.equal(room.refusalOf("team-a"), null);
  filled = RESERVED_FROM;
  await until(() => /has 1000 of its 1010 records/.test(room.refusalOf("team-a") ?? ""));
  assert.match(room.refusalOf("team-a") ?? "", /^the audit is 90 % full.*--audit-gib/);
  assert.equal(room.refusalOf("team-b"), null);
  assert.equal(room.refusalOf("who-comes-next"), null);

  record(room, "team-b", 1_000);
  assert.notEqual(room.refusalOf("team-b"), null, "what is left is not for one other alone");
  assert.equal(room.refusalOf("who-comes-next"), null);

  filled = 0.5;
  await until(() => room.refusalOf("team-a") === null);
});

test("what the stream has let go counts no more", async () => {
  filled = 1;
  now = JANUARY;
  const room = await open("broker");
  record(room, "team-a", 100);
  await until(() => room.refusalOf("team-a") !== null);
  await until(
    async () => Object.keys(await redis.hgetall("yard:audit:{broker}:users")).length === 1,
  );
  now = JANUARY + 16 * MONTH_MS;
  await until(() => room.refusalOf("team-a") === null);
  await until(async () => (await redis.exists("yard:audit:{broker}:users")) === 0);
});
