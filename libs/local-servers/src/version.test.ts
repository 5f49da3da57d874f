import assert from "node:assert/strict";
import { test } from "node:test";

import { compareVersions, versionIn } from "./version.ts";

test("reads the version out of what servers and packages say", () => {
  assert.equal(versionIn("nats-server: v2.15.1\n"), "2.15.1");
  assert.equal(
    versionIn("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"),
    "7.0.15",
  );
  assert.equal(versionIn("Valkey server v=8.1.0 sha=0"), "8.1.0");
  assert.equal(versionIn("5:7.0.15-1~deb12u10"), "7.0.15");
  assert.equal(versionIn("2.15.1-1"), "2.15.1");
  assert.equal(versionIn("2.14.0-RC.1"), "2.14.0");
  assert.equal(versionIn("(none)"), null);
});

test("compares versions by number, not by text", () => {
  assert.ok(compareVersions("2.9.10", "2.14") < 0);
  assert.ok(compareVersions("2.15.1", "2.14.0") > 0);
  assert.ok(compareVersions("10.0.0", "9.9.9") > 0);
  assert.equal(compareVersions("7.0", "7.0.0"), 0);
});
