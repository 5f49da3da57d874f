import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { checkModels } from "./model-check.ts";
import type { Check } from "./check.ts";

async function check(models: unknown, env: NodeJS.ProcessEnv = {}): Promise<Check> {
  const workspace = tempDirectory();
  const file = join(workspace, "models.json");
  await writeFile(file, typeof models === "string" ? models : JSON.stringify(models));
  await writeFile(join(workspace, "there.key"), "canary-4711");
  return checkModels({ file, workspace, env });
}

test("a provider that names no key needs its usual variable", async () => {
  const models = { default: "openai/gpt-5", providers: { openai: { type: "openai" } } };
  const without = await check(models);
  assert.equal(without.status, "warning");
  assert.match(String(without.fix), /export OPENAI_API_KEY=/);
  const withKey = await check(models, { OPENAI_API_KEY: "canary-4711" });
  assert.equal(withKey.status, "ok");
  assert.match(withKey.summary, /openai \(OPENAI_API_KEY\)/);
  assert.ok(!JSON.stringify(withKey).includes("canary"));
});

test("a key file has to be there, and a local server needs none", async () => {
  const entry = (apiKeyFile: string) => ({
    default: "a/m",
    providers: {
      a: { type: "anthropic", apiKeyFile },
      local: { type: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" },
    },
  });
  const found = await check(entry("there.key"));
  assert.equal(found.status, "ok");
  assert.match(found.summary, /there\.key\), local \(no key needed\)/);
  const lost = await check(entry("lost.key"), { ANTHROPIC_API_KEY: "the file is meant" });
  assert.equal(lost.status, "warning");
  assert.match(String(lost.fix), /lost\.key/);
});

test("a file that cannot be read is a failure with its name, none at all is fine", async () => {
  const broken = await check("{half");
  assert.equal(broken.status, "failed");
  assert.match(String(broken.fix), /models\.json/);
  const none = await checkModels({ file: "/nowhere/models.json", workspace: "/", env: {} });
  assert.equal(none.status, "ok");
});
