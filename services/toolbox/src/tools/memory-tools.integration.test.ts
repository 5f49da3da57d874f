import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { createMemoryStore, MAX_NAMES, memoryHolding } from "../memory/memory-store.ts";
import { ToolError } from "../tool-error.ts";
import type { ToolResult } from "../tool.ts";
import { createMemoryTools } from "./memory-tools.ts";

const { context } = await testWorkspace();
const redis = await connectRedis({
  url: (await testRedis()).url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => redis.disconnect());
const tools = createMemoryTools(createMemoryStore(redis));

function call(
  name: string,
  args: unknown,
  agent: string | null = "tester",
  { from = tools, owner = "cli" }: { from?: typeof tools; owner?: string | null } = {},
): Promise<ToolResult> {
  const tool = from.find((candidate) => candidate.name === name);
  assert.ok(tool);
  const memory = agent === null ? null : { agent, owner };
  return tool.run(tool.input.parse(args), { ...context, memory });
}

test("an agent reads its own memories, and no other agent does", async () => {
  const kept = await call("memory_write", { name: "likes", content: "thé" });
  assert.equal(kept.text, "Kept 4 bytes under 'likes'.");
  assert.equal((await call("memory_read", { name: "likes" })).text, "thé");
  assert.equal((await call("memory_read", {})).text, "likes");
  assert.equal((await call("memory_read", {}, "other")).text, "Nothing is kept yet.");
  await assert.rejects(call("memory_read", { name: "likes" }, "other"), /Nothing is kept under/);
});

test("an agent has a memory for each owner, and memories from before there were owners belong to the shared memory", async () => {
  const unread: string[] = [];
  const from = createMemoryTools(
    createMemoryStore(redis, { onUnread: (agent) => unread.push(agent) }),
  );
  await redis.hset("yard:{agent:old}:memory", "plan", "of before");
  const list = (owner: string | null) => call("memory_read", {}, "old", { from, owner });
  assert.equal((await list("team-a")).text, "Nothing is kept yet.");
  assert.deepEqual(unread, ["old"], "the operator gets a message");
  assert.equal((await list(null)).text, "plan");
  await call("memory_write", { name: "mine", content: "x" }, "old", { from, owner: "team-a" });
  assert.equal((await list("team-a")).text, "mine");
  assert.equal((await list("team-b")).text, "Nothing is kept yet.");
  assert.equal((await list(null)).text, "plan");
  assert.equal((await call("memory_read", {}, "new", { from })).text, "Nothing is kept yet.");
  assert.deepEqual(unread, ["old", "old"]);
});

test("null forgets, and a call without a run has no memory", async () => {
  await call("memory_write", { name: "gone", content: "x" });
  assert.equal(
    (await call("memory_write", { name: "gone", content: null })).text,
    "Forgot 'gone'.",
  );
  await assert.rejects(call("memory_read", { name: "gone" }), /Nothing is kept under 'gone'/);
  await assert.rejects(call("memory_read", {}, null), /only within a run/);
});

test("a text that is too large, or one name too many, is refused and writes nothing", async () => {
  await assert.rejects(
    call("memory_write", { name: "big", content: "x".repeat(32 * 1024 + 1) }),
    /up to 32768/,
  );
  const writes = Array.from({ length: MAX_NAMES + 20 }, (_, index) =>
    call("memory_write", { name: `n${index}`, content: "x" }, "hoarder").then(
      () => true,
      () => false,
    ),
  );
  assert.equal((await Promise.all(writes)).filter(Boolean).length, MAX_NAMES);
  assert.equal(await redis.hlen("yard:{agent:cli/hoarder}:memory"), MAX_NAMES);
  await call("memory_write", { name: "n0", content: "in place of the old" }, "hoarder");
});

test("the memories of an owner's agents are counted, and refused above the limit", async () => {
  const counted: unknown[] = [];
  let isFull = false;
  const storage = {
    async admit() {
      if (isFull) throw new ServiceError("storage_full", "cli keeps too much");
    },
    set: (...words: unknown[]) => void counted.push(words),
  };
  const from = createMemoryTools(createMemoryStore(redis, { storage }));
  await call("memory_write", { name: "a", content: "x".repeat(1_000) }, "saver", { from });
  await call("memory_write", { name: "a", content: "x".repeat(100) }, "saver", { from });
  const holding = (bytes: number) => ["cli", "memory:saver", { bytes, ends: null }];
  assert.deepEqual(counted.splice(0), [holding(1_065), holding(165)]);
  assert.deepEqual(await memoryHolding(redis, "cli", "memory:saver"), { bytes: 165, ends: null });
  isFull = true;
  const refused = call("memory_write", { name: "b", content: "x" }, "saver", { from });
  await assert.rejects(refused, (error) => {
    return error instanceof ToolError && error.message === "cli keeps too much";
  });
  await call("memory_write", { name: "a", content: null }, "saver", { from });
  assert.deepEqual(counted, [holding(0)]);
  assert.equal(await memoryHolding(redis, "cli", "memory:saver"), null);
});

test("a memory that does not answer is an error for the model to read, not a fault", async () => {
  const gone = redis.duplicate({ lazyConnect: true, enableOfflineQueue: false });
  const away = createMemoryTools(createMemoryStore(gone));
  for (const [name, args] of [
    ["memory_read", {}],
    ["memory_read", { name: "likes" }],
    ["memory_write", { name: "likes", content: "tea" }],
    ["memory_write", { name: "likes", content: null }],
  ] as const) {
    const isToolError = (error: unknown) =>
      error instanceof ToolError && /does not answer now.*try again later/.test(error.message);
    await assert.rejects(call(name, args, "tester", { from: away }), isToolError);
  }
  gone.disconnect();
});
