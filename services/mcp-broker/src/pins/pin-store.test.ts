import assert from "node:assert/strict";
import { test } from "node:test";
import type { Redis } from "@switchyard/service/redis";
import { turnsDuring } from "../../test-fixtures/turns-during.ts";
import type { PinRecord } from "./pin-record.ts";
import { createPinStore } from "./pin-store.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const AT = "2026-11-29T00:00:00.000Z";

function pinOf(tool: string): PinRecord {
  return {
    tool,
    name: `mcp__many__${tool}`,
    digest: DIGEST,
    definitionDigest: DIGEST,
    findings: [],
    firstSeenAt: AT,
    seenAt: AT,
    approved: null,
    blocked: null,
  };
}

test("loads many pins in slices that leave time to renew leases", async () => {
  const pins = Array.from({ length: 100 }, (_, n) => pinOf(`tool-${n}`));
  const fields = Object.fromEntries(pins.map((pin) => [`t:${pin.tool}`, JSON.stringify(pin)]));
  const redis = { hgetall: () => Promise.resolve({ ...fields, revision: "7" }) };
  const store = createPinStore(redis as unknown as Redis);
  assert.ok((await turnsDuring(() => store.load("many"))) >= 8);
  const { revision, records } = await store.load("many");
  assert.equal(revision, "7");
  assert.deepEqual([...records.values()], pins);
});
