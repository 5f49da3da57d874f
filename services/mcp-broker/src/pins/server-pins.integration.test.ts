import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { StoreError } from "@switchyard/service/store-error";
import type { TrustSetting } from "@switchyard/project/mcp-servers/server-config";
import { approving, blocking, ServerPins, type PinsWritten, type Sighting } from "./server-pins.ts";
import { createPinStore } from "./pin-store.ts";
import { watchPins } from "./start-pinning.ts";

const redisServer = await testRedis();
const log = createLog({ service: "test", level: "silent" });

/** The pins of one broker, with a connection of its own. */
async function openBook() {
  const redis = await connectRedis({ url: redisServer.url, name: "test", log });
  const written: PinsWritten[] = [];
  const troubles: unknown[] = [];
  const store = createPinStore(redis);
  const loads: string[] = [];
  const book = new ServerPins({
    store: {
      ...store,
      load(server) {
        loads.push(server);
        return store.load(server);
      },
    },
    now: Date.now,
    onWritten: (one) => written.push(one),
    onView: () => undefined,
    onTrouble: (_server, problem) => troubles.push(problem),
  });
  const watch = watchPins(redis, {
    onWritten: (server) => void book.reload(server),
    onGap: () => book.reloadAll(),
    onTrouble: (error) => troubles.push(error),
  });
  after(() => {
    watch.close();
    redis.disconnect();
  });
  return { book, redis, written, troubles, loads };
}

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
function sighting(server: string, tools: Record<string, string>, trust: TrustSetting): Sighting {
  return {
    server,
    trust,
    identity: { id: server },
    tools: Object.entries(tools).map(([name, letter]) => ({
      name,
      ref: { name: `mcp__${server}__${name}` },
      pin: digest(letter),
      definitionDigest: digest(letter),
      findings: [],
      definition: { name, letter },
    })),
  };
}

test("notifies another broker of an approval and of a block", async () => {
  const [one, other] = await Promise.all([openBook(), openBook()]);
  const seen = sighting("heard", { a: "1" }, "review");
  await Promise.all([one.book.see(seen), other.book.see(seen)]);
  assert.equal(other.book.stateOf("heard", "a", digest("1")), "pending");
  await one.book.change("heard", "ann", approving({ tools: null, override: [], by: "ann" }));
  await until(
    () => other.book.stateOf("heard", "a", digest("1")),
    (state) => state === "approved",
  );
  await other.book.change("heard", "ann", blocking({ tools: ["a"], by: "ann" }));
  await until(
    () => one.book.stateOf("heard", "a", digest("1")),
    (state) => state === "blocked",
  );
});

test("writes each sight once, however many brokers see it at the same time", async () => {
  const books = await Promise.all([openBook(), openBook(), openBook()]);
  const tools = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`t${n}`, "a"]));
  const seen = sighting("crowded", tools, "pin-first-use");
  await Promise.all(books.map(({ book }) => book.see(seen)));
  const records = books.flatMap(({ written }) => written.flatMap((one) => one.records));
  assert.equal(records.length, 600);
  assert.equal(new Set(records.map(({ tool }) => tool)).size, 600);
  for (const { book, troubles } of books) {
    assert.equal(book.stateOf("crowded", "t599", digest("a")), "approved");
    assert.deepEqual(troubles, []);
  }
});

test("holds tools that a server lists later, and takes those of a long first listing in parts", async () => {
  const [one, other] = await Promise.all([openBook(), openBook()]);
  const tools = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`t${n}`, "a"]));
  const seen = sighting("growing", tools, "pin-first-use");
  await one.book.see(seen);
  await one.book.see(sighting("growing", { ...tools, late: "b" }, "pin-first-use"));
  assert.equal(one.book.stateOf("growing", "late", digest("b")), "pending");
  await one.redis.hdel("yard:{mcp:growing}:pins", "t:t299"); // as if a broker had died between two parts
  await other.book.see(seen);
  assert.equal(other.book.stateOf("growing", "t299", digest("a")), "approved");
  assert.equal(other.book.stateOf("growing", "late", digest("b")), "pending");
  await other.book.see(sighting("growing", { ...tools, more: "c" }, "pin-new-tools"));
  assert.equal(other.book.stateOf("growing", "more", digest("c")), "approved");
});

test("reads the pins of a long listing once, however many parts it wrote and was notified of", async () => {
  const [one, other] = await Promise.all([openBook(), openBook()]);
  const names = Array.from({ length: 2_000 }, (_, n) => `t${n}`);
  const tools = Object.fromEntries(names.map((name) => [name, "a"]));
  await other.book.see(sighting("long", { t0: "a" }, "pin-new-tools"));
  await one.book.see(sighting("long", tools, "pin-new-tools"));
  await until(
    () => other.book.stateOf("long", "t1999", digest("a")),
    (state) => state === "approved",
  );
  // The notifications of both brokers come over one connection each, in order: after this one none is in flight.
  await other.book.change("long", "ann", blocking({ tools: ["t0"], by: "ann" }));
  await until(
    () => one.book.stateOf("long", "t0", digest("a")),
    (state) => state === "blocked",
  );
  await one.book.reload("long"); // behind all others
  // One for the writing, one for the other broker's change, and one if the subscription was ready late.
  assert.ok(one.loads.length <= 3, `${one.loads.length} readings`);
});

test("stores no definition that is neither listed nor approved", async () => {
  const { book, redis } = await openBook();
  for (const letter of ["1", "2", "3"])
    await book.see(sighting("kept", { a: letter }, "pin-first-use"));
  const kept = await redis.hkeys("yard:{mcp:kept}:pin-definitions");
  assert.deepEqual(kept.toSorted(), [digest("1"), digest("3")]);
  const record = (await book.read("kept")).get("a") ?? assert.fail("no record");
  const { before, after: now } = await book.definitions("kept", record);
  assert.deepEqual(before, { definition: { name: "a", letter: "1" }, identity: { id: "kept" } });
  assert.deepEqual(now, { definition: { name: "a", letter: "3" }, identity: { id: "kept" } });
});

test("without Redis accepts nothing new and uses the loaded pins, and writes sightings when Redis is back", async () => {
  const { book, redis, troubles } = await openBook();
  await book.see(sighting("outage", { a: "1" }, "pin-first-use"));
  const ended = once(redis, "end");
  redis.disconnect();
  await ended;
  await book.see(sighting("outage", { a: "1", b: "2" }, "pin-new-tools"));
  assert.ok(troubles.some((problem) => problem instanceof StoreError));
  assert.equal(book.stateOf("outage", "a", digest("1")), "approved");
  assert.equal(book.stateOf("outage", "b", digest("2")), "pending");
  await assert.rejects(
    book.change("outage", "ann", approving({ tools: null, override: [], by: "ann" })),
    StoreError,
  );
  await redis.connect();
  await until(
    () => book.stateOf("outage", "b", digest("2")),
    (state) => state === "approved",
  );
});
