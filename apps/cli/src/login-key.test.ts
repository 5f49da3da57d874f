import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ensureLoginKey } from "./login-key.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-login-key-"));
after(() => rm(directory, { recursive: true }));

test("a laptop's logins are encrypted with one key, which only its owner may read", async () => {
  const made = await ensureLoginKey(directory);
  assert.equal(Buffer.from(made, "base64").length, 32);
  assert.equal(await ensureLoginKey(directory), made);
  assert.equal((await stat(join(directory, "mcp-logins.key"))).mode & 0o777, 0o600);
});
