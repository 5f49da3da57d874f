import assert from "node:assert/strict";
import { test } from "node:test";
import { completeModel } from "@switchyard/contracts/agent-runner/model-completion";
import fc from "fast-check";
import { readSampling } from "./sampling.ts";

const text = { role: "user", content: { type: "text", text: "hello" } };

test("a sampling request becomes one completion, with the tokens cut to the limit", () => {
  const read = readSampling(
    {
      messages: [
        text,
        { role: "assistant", content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] },
      ],
      systemPrompt: "be short",
      maxTokens: 100_000,
      temperature: 0.7,
      includeContext: "allServers",
      modelPreferences: { hints: [{ name: "sonnet" }, {}], costPriority: 1 },
    },
    500,
  );
  assert.deepEqual(read, {
    completion: {
      hints: ["sonnet"],
      system: "be short",
      messages: [
        { role: "user", content: [{ type: "text", text: "hello" }] },
        { role: "assistant", content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] },
      ],
      maxTokens: 500,
      temperature: 0.7,
      stopSequences: [],
    },
    policyArgs: { maxTokens: 500, models: ["sonnet"] },
  });
});

test("what cannot be sampled is named: no messages, tools, foreign content", () => {
  const problemOf = (params: Record<string, unknown>): string => {
    const read = readSampling({ messages: [text], maxTokens: 5, ...params }, 500);
    assert.ok("problem" in read, JSON.stringify(read));
    return read.problem;
  };
  assert.match(problemOf({ messages: [] }), /^messages /);
  assert.match(problemOf({ maxTokens: 0 }), /^maxTokens /);
  assert.match(problemOf({ tools: [{ name: "x" }] }), /does not offer/);
  const foreign = { role: "user", content: { type: "tool_use", id: "1", name: "x", input: {} } };
  assert.match(problemOf({ messages: [foreign] }), /not text, image or audio/);
});

test("whatever a server sends becomes a request that the contract takes, or a problem", () => {
  const params = fc.record({
    messages: fc.array(fc.oneof(fc.constant(text), fc.jsonValue())),
    maxTokens: fc.oneof(fc.integer(), fc.string()),
    temperature: fc.option(fc.double(), { nil: undefined }),
    stopSequences: fc.option(fc.array(fc.string()), { nil: undefined }),
  });
  fc.assert(
    fc.property(params, (value) => {
      const read = readSampling(value, 500);
      if (!("problem" in read))
        assert.equal(completeModel.request.safeParse(read.completion).success, true);
    }),
  );
});
