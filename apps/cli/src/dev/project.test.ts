import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { HOME } from "../locations.ts";
import { findProject } from "./project.ts";

function project(files: Record<string, string>): string {
  const root = tempDirectory();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

test("the examples are a project", async () => {
  const { policyFile, mcpServersFile } = await findProject(join(HOME, "examples"));
  assert.equal(policyFile, join(HOME, "examples/policies"));
  assert.equal(mcpServersFile, join(HOME, "examples/mcp-servers.json"));
});

test("policy.yaml is in force, whatever else lies in policies/", async () => {
  const root = project({ "mcp-servers.json": "{}", "policy.yaml": "", "policies/a.yaml": "" });
  assert.equal((await findProject(root)).policyFile, join(root, "policy.yaml"));
});

test("files in policies/ are in force together without policy.yaml, also when the second is added later", async () => {
  for (const files of [
    { "policies/a.yaml": "" },
    { "policies/a.yaml": "", "policies/b.yml": "" },
  ]) {
    const root = project({ "mcp-servers.json": "{}", ...files });
    assert.equal((await findProject(root)).policyFile, join(root, "policies"));
  }
});

test("what is missing is named", async () => {
  await assert.rejects(findProject("/nonexistent"), /no project directory/);
  await assert.rejects(findProject(project({ "policy.yaml": "" })), /no mcp-servers\.json/);
  await assert.rejects(findProject(project({ "mcp-servers.json": "{}" })), /has no policy/);
});

test("hooks.json is found, with the variables that it names", async () => {
  const files = { "mcp-servers.json": "{}", "policy.yaml": "" };
  assert.equal((await findProject(project(files))).hooks, null);
  const text = '{"hooks":{"a":{"key":"${A_KEY}","secrets":["${A_SECRET}","${A_KEY}"]}}}';
  const root = project({ ...files, "hooks.json": text });
  assert.deepEqual((await findProject(root)).hooks, {
    file: join(root, "hooks.json"),
    variables: ["A_KEY", "A_SECRET"],
  });
});

test("the default model comes from models.json; a broken one is left to the runner to explain", async () => {
  const files = { "mcp-servers.json": "{}", "policy.yaml": "" };
  const none = await findProject(project(files));
  assert.deepEqual([none.modelsFile, none.defaultModel], [null, "scripted/plan"]);
  const chosen = await findProject(project({ ...files, "models.json": '{"default":"openai/x"}' }));
  assert.equal(chosen.defaultModel, "openai/x");
  const broken = await findProject(project({ ...files, "models.json": "{" }));
  assert.equal(broken.defaultModel, "scripted/plan");
  assert.notEqual(broken.modelsFile, null);
});
