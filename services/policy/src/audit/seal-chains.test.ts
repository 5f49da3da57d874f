import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { Redis } from "@switchyard/service/redis";
import { startSeals } from "./seal-chains.ts";

const writer = `gateway-${"0".repeat(16)}`;
const signature = { kid: "k", signature: "s" } as const;

test("the first seal follows the first record at once, and the next one a minute later", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const facts: AuditFact[] = [];
  const heads: Record<string, string> = {};
  // Only this command is called.
  const redis = {
    hgetall: async (key: string) => (key.includes("{gateway}") ? { ...heads } : {}),
  } as unknown as Redis;
  const seals = startSeals({
    redis,
    writer: {
      append: (fact) => {
        facts.push(fact());
        return { ref: "", seq: facts.length, isSealed: true };
      },
    },
    signText: () => signature,
    now: Date.now,
    onTrouble: assert.ifError,
  });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 200) {
      t.mock.timers.tick(200);
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    }
  };
  const grow = (seq: number) => {
    const head = { seq, hash: `sha256:${"0".repeat(64)}`, atMs: Date.now() };
    heads[writer] = JSON.stringify(head);
  };
  await pass(1_000);
  assert.equal(facts.length, 0, "there is nothing to sign");
  grow(1);
  await pass(400);
  assert.equal(facts.length, 1);
  grow(2);
  await pass(50_000);
  assert.equal(facts.length, 1, "not more often than once a minute");
  await pass(20_000);
  assert.equal(facts.length, 2);
  grow(3);
  await seals.stop();
  const last = facts.at(-1);
  assert.ok(last?.kind === "seal" && facts.length === 3);
  assert.equal(last.heads[0]?.seq, 3);
});
