import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { createCachedFilters } from "./cached-filters.ts";

const refs = [builtinToolRef("a"), builtinToolRef("b")];
const reply = (revision: string | null, allowed = ["a"]) => ({
  allowed,
  policyDigest: `sha256:${"0".repeat(64)}`,
  ...(revision === null ? {} : { cacheable: { revision, forMs: 500 } }),
});

test("an answer about a list is kept for as long as the policy promised, counted from before the request", () => {
  let now = 1_300; // the answer took 300 ms
  const filters = createCachedFilters(() => now);
  filters.keep("k", { refs, reply: reply("r1") }, 1_000);
  now = 1_499;
  assert.deepEqual(filters.find("k", refs)?.allowed, ["a"]);
  now = 1_500;
  assert.equal(filters.find("k", refs), null);
});

test("an answer is about exactly the list and the requester that it was given for", () => {
  const filters = createCachedFilters(() => 0);
  filters.keep("k", { refs, reply: reply("r1") }, 0);
  assert.equal(filters.find("k", [...refs]), null);
  assert.equal(filters.find("other", refs), null);
  assert.notEqual(filters.find("k", refs), null);
});

test("a reply without a promise is not cached, and removes an earlier one", () => {
  const filters = createCachedFilters(() => 0);
  filters.keep("k", { refs, reply: reply("r1") }, 0);
  filters.keep("k", { refs, reply: reply(null, ["b"]) }, 0);
  assert.equal(filters.find("k", refs), null);
});

test("another revision takes the answers of the one before away", () => {
  const filters = createCachedFilters(() => 0);
  filters.keep("a", { refs, reply: reply("r1") }, 0);
  filters.keep("b", { refs, reply: reply("r2") }, 0);
  assert.equal(filters.find("a", refs), null);
  assert.notEqual(filters.find("b", refs), null);
  filters.clear();
  assert.equal(filters.find("b", refs), null);
});

test("the lists that are kept have a bounded number of tools", () => {
  const filters = createCachedFilters(() => 0);
  const long = Array.from({ length: 20_000 }, (_, n) => builtinToolRef(`t${n}`));
  const keys = Array.from({ length: 25 }, (_, n) => `k${n}`);
  for (const key of keys) {
    filters.keep(key, { refs: long, reply: reply("r1", []) }, 0);
    const kept = keys.filter((one) => filters.find(one, long) !== null);
    assert.ok(kept.length <= 10);
    assert.ok(kept.includes(key));
  }
});
