import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptsGzip } from "./accepts-gzip.ts";

test("gzip is used where the client accepts it, by name or by a star, and not with the weight 0", () => {
  for (const text of ["gzip", "br, GZIP;q=0.5", "*", "gzip, deflate, br, zstd"])
    assert.ok(acceptsGzip(text), text);
  for (const text of [undefined, "", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *"])
    assert.ok(!acceptsGzip(text), text);
});
