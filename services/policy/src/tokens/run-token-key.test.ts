import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { StartError } from "@switchyard/service/start-error";
import { isOpenToOthers, readRunTokenKeys } from "./run-token-key.ts";

const made = await createRunTokenKey();

async function keyFile(content: string, mode = 0o600): Promise<string> {
  const path = join(await testDirectory(), "run-token.jwk");
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

test("the public key is the private one without its secret", async () => {
  const { keys, isExposed } = await readRunTokenKeys(await keyFile(made.privateJwk));
  assert.equal(keys.length, 1);
  assert.deepEqual(JSON.parse(keys[0]?.privateJwk ?? ""), JSON.parse(made.privateJwk));
  assert.deepEqual(JSON.parse(keys[0]?.publicJwk ?? ""), JSON.parse(made.publicJwk));
  assert.equal(isExposed, false);
});

test("members that describe the key are left out", async () => {
  const described = { ...(JSON.parse(made.privateJwk) as object), kid: "2026-11", alg: "EdDSA" };
  const { keys } = await readRunTokenKeys(await keyFile(`${JSON.stringify(described)}\n`));
  assert.deepEqual(JSON.parse(keys[0]?.publicJwk ?? ""), JSON.parse(made.publicJwk));
});

test("a file that others may use counts as exposed", async () => {
  for (const mode of [0o640, 0o604, 0o620]) {
    const { isExposed } = await readRunTokenKeys(await keyFile(made.privateJwk, mode));
    assert.equal(isExposed, true, mode.toString(8));
  }
});

test("a file of root that the process reads by its group is not exposed, unless the group may write", () => {
  assert.equal(isOpenToOthers({ mode: 0o100440, uid: 0 }, 10_011), false);
  assert.equal(isOpenToOthers({ mode: 0o100460, uid: 0 }, 10_011), true);
  assert.equal(isOpenToOthers({ mode: 0o100444, uid: 0 }, 10_011), true);
  assert.equal(isOpenToOthers({ mode: 0o100440, uid: 10_011 }, 10_011), true);
});

test("a key that is no private key is refused without being shown", async () => {
  const secret = "kJ0secretsecretsecret";
  for (const content of [secret, `{"d":"${secret}"}`, made.publicJwk, ""]) {
    await assert.rejects(readRunTokenKeys(await keyFile(content)), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, /^YARD_KEYS_DIR: /);
      assert.equal(JSON.stringify([error.message, error.hint]).includes(secret), false);
      return true;
    });
  }
});
