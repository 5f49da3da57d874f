import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseTokenKeys } from "./token-cipher.ts";
import { readTokenKeyFile } from "./token-key-file.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-token-key-"));
after(() => rm(directory, { recursive: true }));
const file = join(directory, "key");

test("logins are encrypted with the key of the file", async () => {
  const key = Buffer.alloc(32, 7).toString("base64");
  await writeFile(file, `${key}\n`);
  const cipher = await readTokenKeyFile(file);
  assert.equal(parseTokenKeys(key)?.open(cipher?.seal("token", "a") ?? "", "a"), "token");
  assert.equal(await readTokenKeyFile(undefined), null);
});

test("a file that is missing or holds no key is named, and what it holds is not shown", async () => {
  await assert.rejects(readTokenKeyFile(join(directory, "no")), {
    name: "StartError",
    message: /no \(ENOENT\)/,
  });
  await writeFile(file, "canary-4711");
  await assert.rejects(readTokenKeyFile(file), ({ message }: Error) => {
    assert.match(message, /YARD_MCP_TOKEN_KEY_FILE: .*key 1 has no 32 bytes/);
    assert.ok(!message.includes("canary"));
    return true;
  });
});
