import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { createDecisionCache } from "./decision-cache.ts";
import { keepDecisions } from "./keep-decisions.ts";

/** A policy whose replies the test gives, and the checks that reached it. */
function policyOf() {
  const requests: PromiseWithResolvers<object>[] = [];
  const hits: boolean[] = [];
  const cache = createDecisionCache(() => performance.now());
  const [checks] = keepDecisions(cache, (isHit) => hits.push(isHit));
  const send = checks?.(() => {
    const request = Promise.withResolvers<object>();
    requests.push(request);
    return request.promise;
  });
  const check = async (name: string, onBehalfOf = "cli"): Promise<unknown> =>
    send?.({
      contract: checkPolicy,
      request: { onBehalfOf, tool: builtinToolRef(name), args: {} },
      options: {},
    });
  return { check, requests, hits };
}

const decided = {
  decision: {
    effect: "allow",
    rule: null,
    reason: "test",
    policyDigest: `sha256:${"0".repeat(64)}`,
  },
  principal: { user: "cli", agent: null, runId: null },
};
const cacheable = { ...decided, cacheable: { revision: "r1", forMs: 60_000 } };

/** Lets everything that waits for what has been resolved continue. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("checks that come together share the reply to the first; one of another caller does not", async () => {
  const { check, requests, hits } = policyOf();
  const all = [check("search"), check("search"), check("search"), check("search", "gateway")];
  await settled();
  assert.equal(requests.length, 2);
  for (const request of requests) request.resolve(cacheable);
  await Promise.all(all);
  assert.deepEqual(hits, [false, false, true, true]);
});

test("after a reply that may not be cached, calls of the tool do not wait until one may be again", async () => {
  const { check, requests } = policyOf();
  const first = check("search");
  requests[0]?.resolve(decided);
  await first;
  const later = [check("search"), check("search")];
  assert.equal(requests.length, 3);
  for (const request of requests) request.resolve(cacheable);
  await Promise.all(later);
  await check("search");
  assert.equal(requests.length, 3);
});

test("a check that fails ends the waiting for it, and fails for its own caller alone", async () => {
  const { check, requests } = policyOf();
  const first = assert.rejects(check("search"), /no answer/);
  const second = check("search");
  requests[0]?.reject(new Error("no answer"));
  await first;
  await settled();
  assert.equal(requests.length, 2);
  requests[1]?.resolve(cacheable);
  assert.deepEqual(await second, cacheable);
});
