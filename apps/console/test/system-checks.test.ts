import assert from "node:assert/strict";
import { test } from "node:test";
import { SERVICE_NAMES } from "@switchyard/contracts/user-names";
import { checksOf } from "../src/pages/system-checks.ts";

const NOTHING = {
  system: null,
  store: null,
  servers: null,
  stops: null,
  versions: null,
  models: null,
};

const replica = (name: string, version = "1.0.0") => ({
  name,
  id: `${name}-1`,
  version,
  description: "",
  endpoints: [],
});
const stream = (bytes: number) => ({
  name: "YARD_EVENTS",
  messages: 1,
  bytes,
  maxBytes: 1_000,
  queues: [],
});
const services = SERVICE_NAMES.map((name) => replica(name));

test("what is not known yet is no check", () => assert.deepEqual(checksOf(NOTHING), []));

test("a system in order needs nothing to be done", () => {
  const checks = checksOf({
    ...NOTHING,
    system: {
      services,
      streams: [stream(100), { ...stream(1_000), name: "YARD_FACTS" }],
      readers: 1,
    },
    store: { problem: null },
    servers: { servers: [] },
    stops: { stops: [] },
    models: { default: "scripted/plan", providers: [] },
  });
  assert.equal(checks.length, 7);
  for (const { name, isOk, next } of checks)
    assert.deepEqual([name, isOk, next], [name, true, null]);
});

test("what is not in order has a finding and advice", () => {
  const problem = {
    status: 503,
    code: "store_unavailable",
    detail: "Redis is away",
    requestId: "",
  };
  const key = { name: "far", type: "openai", hasKey: false };
  const checks = checksOf({
    ...NOTHING,
    system: {
      services: [...services.slice(1), replica("gateway", "1.1.0")],
      streams: [stream(900)],
      readers: 0,
    },
    store: { problem },
    stops: { stops: [{ scope: { kind: "all" }, reason: "", by: "ann", at: "" }] },
    models: { default: "far/large", providers: [key] },
  });
  const said = checks.map(({ name, says }) => `${name}: ${says}`);
  assert.ok(
    checks.every(({ isOk, next }) => !isOk && next !== null),
    said.join("\n"),
  );
  assert.deepEqual(said, [
    `services: no answer from ${SERVICE_NAMES[0]}`,
    "versions: replicas of 1.0.0, 1.1.0 answer side by side",
    "streams: YARD_EVENTS has 900 B of 1000 B",
    "redis: Redis is away",
    "stops: calls are stopped of everything",
    "model: far has no key, and far/large is the default",
  ]);
});
