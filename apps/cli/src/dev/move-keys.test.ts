import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { moveKeys } from "./move-keys.ts";

function places() {
  const root = tempDirectory();
  const [former, project] = [join(root, "person", "app-1"), join(root, "app", ".switchyard")];
  mkdirSync(join(former, "keys"), { recursive: true });
  mkdirSync(project, { recursive: true });
  writeFileSync(join(former, "keys", "admin.nk"), "seed", { mode: 0o600 });
  writeFileSync(join(former, "keys", "masks.key"), "key", { mode: 0o600 });
  writeFileSync(join(former, "operator.nk"), "operator", { mode: 0o600 });
  const keys = join(project, "keys");
  return {
    former,
    keys,
    operatorKey: join(project, "operator.nk"),
    formerKeys: join(former, "keys"),
  };
}

test("keys of an older version are moved into the project, closed to others", async () => {
  const at = places();
  assert.equal(await moveKeys(at), true);
  assert.deepEqual(readdirSync(at.keys).toSorted(), ["admin.nk", "masks.key"]);
  assert.equal(readFileSync(at.operatorKey, "utf8"), "operator");
  assert.equal(statSync(at.keys).mode & 0o777, 0o700);
  assert.equal(statSync(join(at.keys, "admin.nk")).mode & 0o777, 0o600);
  assert.throws(() => statSync(at.former), { code: "ENOENT" });
  assert.equal(await moveKeys(at), false, "once");
});

test("a file of the person beside the keys is kept", async () => {
  const at = places();
  writeFileSync(join(at.former, "notes.txt"), "mine");
  assert.equal(await moveKeys(at), true);
  assert.deepEqual(readdirSync(at.former), ["notes.txt"]);
  assert.equal(await moveKeys(at), false, "once");
});

test("a move that was interrupted is continued, and what the project has is never replaced", async () => {
  const interrupted = places();
  mkdirSync(interrupted.keys);
  writeFileSync(join(interrupted.keys, "admin.nk"), "seed");
  writeFileSync(join(interrupted.keys, "masks.key.moving"), "k");
  assert.equal(await moveKeys(interrupted), true);
  assert.equal(readFileSync(join(interrupted.keys, "masks.key"), "utf8"), "key");

  const other = places();
  mkdirSync(other.keys);
  writeFileSync(join(other.keys, "admin.nk"), "another seed");
  assert.equal(await moveKeys(other), false);
  assert.equal(readFileSync(join(other.keys, "admin.nk"), "utf8"), "another seed");
  assert.equal(readFileSync(join(other.formerKeys, "admin.nk"), "utf8"), "seed");
});

test("without former keys nothing is made", async () => {
  const at = places();
  assert.equal(await moveKeys({ ...at, formerKeys: null }), false);
  assert.equal(await moveKeys({ ...at, formerKeys: join(at.former, "none") }), false);
  assert.throws(() => statSync(at.keys), { code: "ENOENT" });
});
