import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { CIPHER_KEYS, cipherKeyFile, ensureCipherKey } from "./cipher-keys.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-cipher-keys-"));
after(() => rm(directory, { recursive: true }));

test("each key is made once, is another one than the others, and only its owner may read it", async () => {
  const keys = new Set<string>();
  for (const name of CIPHER_KEYS) {
    const { key, isNew } = await ensureCipherKey(directory, name);
    assert.equal(Buffer.from(key, "base64").length, 32);
    assert.equal(isNew, true);
    assert.deepEqual(await ensureCipherKey(directory, name), { key, isNew: false });
    assert.equal((await stat(cipherKeyFile(directory, name))).mode & 0o777, 0o600);
    keys.add(key);
  }
  assert.equal(keys.size, CIPHER_KEYS.length);
});
