import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Decision, Principal } from "@switchyard/contracts/policy/policy";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { createDecisionCache, decisionKey } from "./decision-cache.ts";

const principal: Principal = { user: "cli", agent: null, runId: null };
const decision = (rule: string): Decision => ({
  effect: "allow",
  rule,
  reason: "test",
  policyDigest: `sha256:${"0".repeat(64)}`,
});
const reply = (revision: string | null, forMs = 500) => ({
  decision: decision(revision ?? "none"),
  principal,
  ...(revision === null ? {} : { cacheable: { revision, forMs } }),
});

test("keeps a decision for as long as the policy promised, counted from before the request", () => {
  let now = 1_000;
  const cache = createDecisionCache(() => now);
  now = 1_300; // the answer took 300 ms
  cache.keep("k", reply("r1"), 1_000);
  assert.equal(cache.find("k")?.decision.rule, "r1");
  now = 1_499;
  assert.notEqual(cache.find("k"), null);
  now = 1_500;
  assert.equal(cache.find("k"), null);
});

test("an answer that came too late is not kept in force", () => {
  const cache = createDecisionCache(() => 2_000);
  cache.keep("k", reply("r1"), 1_000);
  assert.equal(cache.find("k"), null);
});

test("a decision that may not be kept is not, and takes an earlier one away", () => {
  const cache = createDecisionCache(() => 0);
  cache.keep("k", reply("r1"), 0);
  cache.keep("k", reply(null), 0);
  assert.equal(cache.find("k"), null);
});

test("another revision takes everything of the one before away", () => {
  const cache = createDecisionCache(() => 0);
  cache.keep("a", reply("r1"), 0);
  cache.keep("b", reply("r2"), 0);
  assert.equal(cache.find("a"), null);
  assert.equal(cache.find("b")?.decision.rule, "r2");
  cache.clear();
  assert.equal(cache.find("b"), null);
});

test("holds a bounded number of decisions", () => {
  const cache = createDecisionCache(() => 0);
  for (let n = 0; n < 25_000; n += 1) {
    cache.keep(`k${n}`, reply("r1"), 0);
    assert.ok(cache.size <= 10_000);
  }
});

test("expired replies are dropped when others are cached, also those about no tool", () => {
  let now = 0;
  const cache = createDecisionCache(() => now);
  const keep = (key: string, askedAt: number): void => {
    cache.keep(key, reply("r1"), askedAt);
    cache.filters.keep(key, { refs: [], reply: filtered("r1", []) }, askedAt);
  };
  for (const key of ["a", "b", "c"]) keep(key, 0);
  assert.equal(cache.size, 6);
  now = 500;
  keep("d", 500);
  assert.equal(cache.size, 2);
});

test("two questions share a key only when everything but the arguments is the same", () => {
  const question = fc.record({
    onBehalfOf: fc.constantFrom("cli", "runner"),
    token: fc.constantFrom(undefined, "a.b.c", "a.b.d"),
    server: fc.constantFrom("s", "s2"),
    tool: fc.constantFrom("t", "t\nx", "x", "", "\n"),
    name: fc.constantFrom("mcp__s__t", "mcp__s2__t"),
    pin: fc.constantFrom(undefined, "sha256:1"),
    facts: fc.constantFrom("", '{"labels":["a"]}', '{"labels":["b"]}'),
  });
  type Question = Parameters<typeof decisionKey>[0];
  const keysDiffer = (one: Question, other: Question) => {
    const isSame = JSON.stringify(one) === JSON.stringify(other);
    assert.equal(decisionKey(one) === decisionKey(other), isSame);
  };
  fc.assert(fc.property(question, question, keysDiffer));
  // Two keys that are drawn independently hardly ever differ in one field only.
  fc.assert(
    fc.property(question, question, (one, other) => {
      for (const [name, value] of Object.entries(other)) keysDiffer(one, { ...one, [name]: value });
    }),
  );
});

interface Step {
  readonly waitMs: number;
  /** The time for which the policy's answer is in flight. */
  readonly travelMs: number;
  readonly does: "asks" | "changes the rules";
}

const steps = fc.array(
  fc.record({
    waitMs: fc.nat({ max: 700 }),
    travelMs: fc.nat({ max: 300 }),
    does: fc.constantFrom<Step["does"]>("asks", "asks", "asks", "changes the rules"),
  }),
  { maxLength: 30 },
);

/**
 * A policy and a provider on one clock, without the event that announces a change. The policy brings a change into force when its promises
 * are over, unless it breaks them. Returns the answers that came from the cache and differed from the rules in force.
 */
function staleAnswers(play: readonly Step[], keepsPromises: boolean): string[] {
  const forMs = 500;
  let now = 0;
  let inForce = 0;
  let change: { at: number } | null = null;
  let promisedUntil = 0;
  const cache = createDecisionCache(() => now);
  const stale: string[] = [];
  const passes = (ms: number): void => {
    now += ms;
    if (change === null || now < change.at) return;
    inForce += 1;
    change = null;
  };
  for (const { waitMs, travelMs, does } of play) {
    passes(waitMs);
    if (does === "changes the rules") {
      change ??= { at: keepsPromises ? Math.max(now, promisedUntil) : now };
      passes(0);
      continue;
    }
    const kept = cache.find("k");
    if (kept !== null) {
      if (kept.decision.rule !== `r${inForce}`) stale.push(`${kept.decision.rule} at ${now}`);
      continue;
    }
    const askedAt = now;
    passes(travelMs);
    // While a change waits no new promise is made, or the change would wait for ever.
    const answer = {
      ...reply(`r${inForce}`, forMs),
      ...(change !== null && { cacheable: undefined }),
    };
    if (change === null) promisedUntil = now + forMs;
    cache.keep("k", answer, askedAt);
  }
  return stale;
}

test("an answer from the cache is always one of the rules in force, because the policy keeps its promise", () => {
  fc.assert(fc.property(steps, (play) => staleAnswers(play, true).length === 0));
});

test("with the promise broken an old answer is given, so the property above is the promise's work", () => {
  const broken = fc.check(fc.property(steps, (play) => staleAnswers(play, false).length === 0));
  assert.ok(broken.failed);
  const [play] = broken.counterexample ?? [];
  assert.ok(play !== undefined && staleAnswers(play, true).length === 0);
});

const refs = [builtinToolRef("a"), builtinToolRef("b")];
const filtered = (revision: string | null, allowed = ["a"]) => ({
  allowed,
  policyDigest: `sha256:${"0".repeat(64)}`,
  ...(revision === null ? {} : { cacheable: { revision, forMs: 500 } }),
});

test("an answer about a list is kept for as long as the policy promised, counted from before the request", () => {
  let now = 1_300; // the answer took 300 ms
  const filters = createDecisionCache(() => now).filters;
  filters.keep("k", { refs, reply: filtered("r1") }, 1_000);
  now = 1_499;
  assert.deepEqual(filters.find("k", refs)?.allowed, ["a"]);
  now = 1_500;
  assert.equal(filters.find("k", refs), null);
});

test("an answer is about exactly the list and the requester that it was given for", () => {
  const filters = createDecisionCache(() => 0).filters;
  filters.keep("k", { refs, reply: filtered("r1") }, 0);
  assert.equal(filters.find("k", [...refs]), null);
  assert.equal(filters.find("other", refs), null);
  assert.notEqual(filters.find("k", refs), null);
});

test("a reply without a promise is not cached, and removes an earlier one", () => {
  const filters = createDecisionCache(() => 0).filters;
  filters.keep("k", { refs, reply: filtered("r1") }, 0);
  filters.keep("k", { refs, reply: filtered(null, ["b"]) }, 0);
  assert.equal(filters.find("k", refs), null);
});

test("another revision takes the answers of the one before away", () => {
  const cache = createDecisionCache(() => 0);
  const { filters } = cache;
  filters.keep("a", { refs, reply: filtered("r1") }, 0);
  cache.keep("k", reply("r1"), 0);
  filters.keep("b", { refs, reply: filtered("r2") }, 0);
  assert.equal(filters.find("a", refs), null);
  assert.notEqual(filters.find("b", refs), null);
  assert.equal(cache.find("k"), null);
  cache.clear();
  assert.equal(filters.find("b", refs), null);
});

test("the lists that are kept have a bounded number of tools", () => {
  const filters = createDecisionCache(() => 0).filters;
  const long = Array.from({ length: 20_000 }, (_, n) => builtinToolRef(`t${n}`));
  const keys = Array.from({ length: 25 }, (_, n) => `k${n}`);
  for (const key of keys) {
    filters.keep(key, { refs: long, reply: filtered("r1", []) }, 0);
    const kept = keys.filter((one) => filters.find(one, long) !== null);
    assert.ok(kept.length <= 10);
    assert.ok(kept.includes(key));
  }
});
