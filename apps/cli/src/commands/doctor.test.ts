import assert from "node:assert/strict";
import { test } from "node:test";
import { clientChecks, isClientOnly } from "../doctor/bus-checks.ts";
import { failed, ok } from "../doctor/check.ts";
import { checkNode } from "../doctor/machine-checks.ts";
import { ensureKeys } from "../key-directory.ts";
import { seedFile } from "../nkey-seed.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { checkLines } from "./doctor.ts";

test("a row for each check, with what to do below it", () => {
  const checks = [ok("node", "Node.js 24"), failed("redis", "evicts keys", "set noeviction")];
  assert.deepEqual(
    checkLines(checks, (_style, text) => text),
    ["✓ node   Node.js 24", "✗ redis  evicts keys", "         → set noeviction"],
  );
});

test("Node.js below 24 fails", () => {
  assert.equal(checkNode("24.0.0").status, "ok");
  assert.equal(checkNode("26.1.0").status, "ok");
  assert.equal(checkNode("22.20.0").status, "failed");
});

test("a client of services elsewhere is told nothing of yard dev, which is not there", async () => {
  assert.ok(!isClientOnly({ YARD_NATS_URL: "nats://nats:4222" }));
  const env = { YARD_NATS_URL: "nats://127.0.0.1:1", YARD_NATS_NKEY_FILE: "/keys/cli.nk" };
  assert.ok(isClientOnly(env));
  const keyless = await clientChecks(env);
  assert.deepEqual(
    keyless.map(({ id, status }) => [id, status]),
    [["nats", "failed"]],
  );
  assert.match(keyless[0]?.summary ?? "", /\/keys\/cli\.nk cannot be read/);
  const directory = tempDirectory();
  await ensureKeys(directory);
  const unreachable = await clientChecks({
    ...env,
    YARD_NATS_NKEY_FILE: seedFile(directory, "cli"),
  });
  assert.equal(unreachable[0]?.status, "failed");
  assert.doesNotMatch(JSON.stringify(unreachable), /yard dev/);
});
