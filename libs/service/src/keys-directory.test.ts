import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readCipherKeyFile, readKeyFile } from "./keys-directory.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-keys-"));
after(() => rm(directory, { recursive: true }));

test("a file has keys, the newest first", async () => {
  const keys = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
  const [newest = "", old = ""] = keys.map((key) => key.toString("base64"));
  await writeFile(join(directory, "masks.key"), `${newest}, ${old}\n`);
  assert.deepEqual(await readCipherKeyFile(directory, "masks.key"), keys);
});

test("without a directory, or without the file in it, there are no keys", async () => {
  assert.deepEqual(await readCipherKeyFile(undefined, "masks.key"), []);
  assert.deepEqual(await readCipherKeyFile(directory, "webhooks.key"), []);
  assert.equal(await readKeyFile(directory, "laptop.token"), null);
});

test("a directory that is missing, or is a file, keeps the service from starting", async () => {
  await writeFile(join(directory, "file"), "");
  for (const name of ["no", "file"])
    await assert.rejects(readKeyFile(join(directory, name), "masks.key"), {
      name: "StartError",
      message: `YARD_KEYS_DIR: there is no directory ${join(directory, name)}`,
    });
});

test("a file that is empty or holds no key is named, and its content is not shown", async () => {
  const file = join(directory, "audit-values.key");
  await writeFile(file, "\n");
  await assert.rejects(readCipherKeyFile(directory, "audit-values.key"), {
    name: "StartError",
    message: `YARD_KEYS_DIR: ${file} is empty`,
  });
  await writeFile(file, "canary-4711");
  await assert.rejects(readCipherKeyFile(directory, "audit-values.key"), ({ message }: Error) => {
    assert.match(message, /YARD_KEYS_DIR: audit-values\.key: .*key 1 has no 32 bytes/);
    assert.ok(!message.includes("canary"));
    return true;
  });
});
