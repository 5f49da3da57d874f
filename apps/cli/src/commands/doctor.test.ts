import assert from "node:assert/strict";
import { chmod, mkdir, stat } from "node:fs/promises";
import { test } from "node:test";
import { clientChecks, isClientOnly } from "../doctor/bus-checks.ts";
import { failed, ok } from "../doctor/check.ts";
import { checkNode, checkPermissions } from "../doctor/machine-checks.ts";
import { ensureKeys } from "../key-directory.ts";
import { seedFile } from "../nkey-seed.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { stateDirectory } from "../locations.ts";
import { checkLines, repaired } from "./doctor.ts";

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

test("a client of services elsewhere gets no advice about yard dev, which is not there", async () => {
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

test("--fix closes keys that were open to others, and reports what it could not do", async () => {
  const state = stateDirectory({ YARD_STATE_DIR: tempDirectory() });
  await mkdir(state.keys, { recursive: true });
  await chmod(state.keys, 0o755);
  const open = await checkPermissions(state);
  assert.equal(open.status, "failed");
  const cannot = {
    ...failed("other", "broken", "help it"),
    repair: () => Promise.reject(new Error("no")),
  };
  const said = await repaired([open, ok("node", "fine"), cannot]);
  assert.equal(said.length, 2);
  assert.match(said[0] ?? "", /^fixed: .*keys is closed to other users now$/);
  assert.match(said[1] ?? "", /^other could not be fixed: /);
  assert.equal((await stat(state.keys)).mode & 0o077, 0);
  assert.equal((await checkPermissions(state)).status, "ok");
});
