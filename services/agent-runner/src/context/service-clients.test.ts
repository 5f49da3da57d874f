import assert from "node:assert/strict";
import { test } from "node:test";
import type { Send } from "@switchyard/bus/interceptor";
import { getAgent, NO_AGENT_LIMITS } from "@switchyard/contracts/skill-importer/agents";
import { skillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { z } from "zod";
import { cacheDefinitions } from "./service-clients.ts";

const clock = { now: 0 };

/** An importer that records its requests, one line each. */
function importer(promise: { keepForMs?: number; fails?: number }) {
  const asked: string[] = [];
  const whole = { text: "", budgetTokens: 1, tokens: 0, wholeTokens: 0, listed: [], dropped: [] };
  const importerOf = {
    async getAgent({ name, digest }: z.input<typeof getAgent.request>) {
      asked.push(digest ?? name);
      clock.now += 10; // the way there and back
      const { keepForMs, fails = 0 } = promise;
      promise.fails = fails - 1;
      if (fails > 0) throw new Error("not now");
      if (name === "nobody") throw new Error("unknown");
      return { agent: { ...agent, name }, ...(keepForMs === undefined ? {} : { keepForMs }) };
    },
    async skillCatalogue({
      about = "",
      contextWindow = 0,
    }: z.input<typeof skillCatalogue.request>) {
      asked.push(`${about} ${contextWindow}`);
      const { keepForMs } = promise;
      return keepForMs === undefined ? whole : { ...whole, keepForMs };
    },
  };
  const send = cacheDefinitions(() => clock.now)(({ contract, request }) =>
    contract === getAgent
      ? importerOf.getAgent(request as z.input<typeof getAgent.request>)
      : importerOf.skillCatalogue(request as z.input<typeof skillCatalogue.request>),
  ) as Send; // as the chain of a bus has it
  const kept = {
    getAgent: (request: z.input<typeof getAgent.request>) =>
      send({ contract: getAgent, request, options: {} }),
    skillCatalogue: (request: z.input<typeof skillCatalogue.request>) =>
      send({ contract: skillCatalogue, request, options: {} }),
  };
  return { asked, kept };
}

const agent = {
  name: "a",
  description: "",
  source: "project" as const,
  digest: `sha256:${"0".repeat(64)}`,
  model: null,
  systemPrompt: "",
  tools: null,
  skills: [],
  maxSteps: 1,
  temperature: null,
  thinking: null,
  plan: null,
  roles: [],
  limits: NO_AGENT_LIMITS,
  onUnknownOutcome: "fail" as const,
  approval: null,
  contextWindow: null,
  memoryBytes: null,
  sharesMemory: false,
};

test("an agent is requested again when its cache lifetime is over, counted from before the request", async () => {
  clock.now = 0;
  const { asked, kept } = importer({ keepForMs: 500 });
  for (const now of [0, 499, 500, 501]) {
    clock.now = now;
    const { agent: got } = await kept.getAgent({ name: "one" });
    assert.equal(got.name, "one");
  }
  assert.deepEqual(asked, ["one", "one"]);
});

test("another agent, or a version of one, is requested separately", async () => {
  const { asked, kept } = importer({ keepForMs: 500 });
  const digest = `sha256:${"1".repeat(64)}`;
  await kept.getAgent({ name: "one" });
  await kept.getAgent({ name: "two" });
  await kept.getAgent({ name: "one", digest });
  assert.deepEqual(asked, ["one", "two", digest]);
});

test("without a cache lifetime every run sends a request", async () => {
  const { asked, kept } = importer({});
  await kept.getAgent({ name: "one" });
  await kept.getAgent({ name: "one" });
  await kept.skillCatalogue({ about: "x" });
  await kept.skillCatalogue({ about: "x" });
  assert.equal(asked.length, 4);
});

test("when a cache lifetime ends, concurrent callers share one request", async () => {
  clock.now = 0;
  const { asked, kept } = importer({ keepForMs: 500 });
  await kept.getAgent({ name: "one" });
  clock.now = 600;
  const replies = await Promise.all([1, 2, 3].map(() => kept.getAgent({ name: "one" })));
  assert.equal(new Set(replies).size, 1);
  assert.deepEqual(asked, ["one", "one"]);
});

test("an answer that may not be cached is returned to its caller alone, and a failed request fails no other caller", async () => {
  clock.now = 0;
  const promise: { keepForMs?: number; fails?: number } = { keepForMs: 500 };
  const { asked, kept } = importer(promise);
  await kept.getAgent({ name: "one" });
  clock.now = 600;
  delete promise.keepForMs;
  await Promise.all([1, 2, 3].map(() => kept.getAgent({ name: "one" })));
  assert.equal(asked.length, 4);

  promise.keepForMs = 500;
  await kept.getAgent({ name: "one" });
  clock.now = 1_500;
  promise.fails = 1;
  const ends = await Promise.allSettled([1, 2].map(() => kept.getAgent({ name: "one" })));
  assert.deepEqual(
    ends.map(({ status }) => status),
    ["rejected", "fulfilled"],
  );
});

test("a failure is not cached", async () => {
  const { asked, kept } = importer({ keepForMs: 500 });
  await assert.rejects(kept.getAgent({ name: "nobody" }), /unknown/);
  await assert.rejects(kept.getAgent({ name: "nobody" }), /unknown/);
  assert.equal(asked.length, 2);
});

test("a list of skills that may be cached serves every run of the same window", async () => {
  const { asked, kept } = importer({ keepForMs: 500 });
  await kept.skillCatalogue({ about: "birds" });
  await kept.skillCatalogue({ about: "fish" });
  await kept.skillCatalogue({ about: "fish", contextWindow: 8_192 });
  assert.deepEqual(asked, ["birds 0", "fish 8192"]);
});
