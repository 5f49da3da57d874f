import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { listMemories, recallMemory } from "@switchyard/contracts/toolbox/agent-memory";
import { isError } from "@switchyard/contracts/errors";
import { runToken, toolboxWorld } from "../../test-fixtures/test-toolbox.ts";
import { replaceConstants } from "@switchyard/testing/test-constants";

const world = await toolboxWorld();
const { policy } = world;
replaceConstants({ toolboxDecisionCache: false });
await world.start();
const token = runToken("run-1");

afterEach(() => {
  policy.answer = () => "allow";
});

function recall(maxBytes = 1_024, asToken = token) {
  return call(world.cli, recallMemory, { token: asToken, maxBytes });
}

async function keep(name: string, content: string | null): Promise<void> {
  const reply = await world.call({ tool: "memory_write", args: { name, content }, token });
  assert.equal(reply.isError, false);
}

test("reads the memories of the run's agent, each text by a decision of its own about memory_read", async () => {
  assert.deepEqual(await recall(), { memories: [], kept: 0, refused: null });
  await keep("likes", "tea");
  await keep("long", "x".repeat(2_000));
  await keep("private", "42");
  policy.answer = (_tool, args) => (args["name"] === "private" ? "deny" : "allow");
  policy.asked.length = 0;
  assert.deepEqual(await recall(), {
    memories: [
      { name: "likes", text: "tea", bytes: 3 },
      { name: "long", text: null, bytes: 2_000 },
      { name: "private", text: null, bytes: null },
    ],
    kept: 3,
    refused: null,
  });
  const asked = policy.asked.map(({ tool, server, args }) => JSON.stringify([tool, server, args]));
  assert.deepEqual(asked.toSorted(), [
    '["memory_read",null,{"name":"likes"}]',
    '["memory_read",null,{"name":"long"}]',
    '["memory_read",null,{"name":"private"}]',
    '["memory_read",null,{}]',
  ]);
});

test("no memory is read where the policy denies it, or would require approval", async () => {
  for (const effect of ["deny", "ask"] as const) {
    policy.answer = () => effect;
    policy.asked.length = 0;
    assert.deepEqual(await recall(), { memories: [], kept: 0, refused: "tests say so" });
    assert.equal(policy.asked.length, 1);
  }
});

test("a token that is none is refused, and one without an agent has no memory", async () => {
  assert.equal((await recall(1_024, "user|x|")).refused?.includes("belongs to an agent"), true);
  policy.answer = () => "invalid_token";
  await assert.rejects(recall(), (error) => isError(error, recallMemory, "invalid_token"));
});

test("reads the first 64 memories by name and reports how many there are", async () => {
  for (let n = 0; n < 70; n += 1) await keep(`many-${String(n).padStart(2, "0")}`, String(n));
  const { memories, kept } = await recall(32_768);
  assert.deepEqual([memories.length, kept], [64, 73]);
  assert.equal(memories.at(-1)?.name, "many-61");
});

test("a person reads what an agent stored for their own runs, and finds it by name and content [D24]", async () => {
  await keep("style", "First line.\nShort Sentences, please.");
  const list = (agent: string, search?: string) =>
    call(world.cli, listMemories, { agent, ...(search === undefined ? {} : { search }) });
  const { memories } = await list("demo");
  assert.deepEqual(
    memories.find(({ name }) => name === "style"),
    { name: "style", bytes: 36, preview: "First line." },
  );
  assert.deepEqual((await list("demo", "short sent")).memories, [
    { name: "style", bytes: 36, preview: "Short Sentences, please." },
  ]);
  assert.deepEqual((await list("demo", "STYLE")).memories.length, 1);
  assert.deepEqual((await list("demo", "nowhere")).memories, []);
  assert.deepEqual((await list("stranger")).memories, []);
  const stranger = runToken("run-1", "", "ann");
  await world.call({
    tool: "memory_write",
    args: { name: "hers", content: "ann's" },
    token: stranger,
  });
  assert.equal((await list("demo", "hers")).memories.length, 0, "of another user");
});
