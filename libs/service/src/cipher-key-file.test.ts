import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readCipherKeyFile } from "./cipher-key-file.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-cipher-key-"));
after(() => rm(directory, { recursive: true }));
const file = join(directory, "key");

test("a file has keys, the newest first", async () => {
  const keys = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
  const [newest = "", old = ""] = keys.map((key) => key.toString("base64"));
  await writeFile(file, `${newest}, ${old}\n`);
  assert.deepEqual(await readCipherKeyFile(file, "YARD_X_KEY_FILE"), keys);
  assert.deepEqual(await readCipherKeyFile(undefined, "YARD_X_KEY_FILE"), []);
});

test("a file that is missing or holds no key is named, and what it holds is not shown", async () => {
  await assert.rejects(readCipherKeyFile(join(directory, "no"), "YARD_X_KEY_FILE"), {
    name: "StartError",
    message: /no \(ENOENT\)/,
  });
  await writeFile(file, "canary-4711");
  await assert.rejects(readCipherKeyFile(file, "YARD_X_KEY_FILE"), ({ message }: Error) => {
    assert.match(message, /YARD_X_KEY_FILE: .*key 1 has no 32 bytes/);
    assert.ok(!message.includes("canary"));
    return true;
  });
});
