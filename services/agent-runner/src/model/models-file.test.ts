import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { createModelRegistry } from "./model-registry.ts";
import { modelsWithoutFile, openModelsFile, parseModels } from "./models-file.ts";

test("reads providers and the default model", () => {
  const models = parseModels(
    "models.json",
    JSON.stringify({
      default: "ollama/library/qwen3:8b",
      providers: {
        anthropic: { type: "anthropic", apiKeyEnv: "ANTHROPIC_API_KEY" },
        ollama: { type: "openai-compatible", baseURL: "http://127.0.0.1:11434/v1" },
      },
    }),
  );
  assert.equal(models.default, "ollama/library/qwen3:8b");
  assert.deepEqual(Object.keys(models.providers), ["anthropic", "ollama"]);
  assert.deepEqual(parseModels("models.json", "{}"), {
    default: "scripted/plan",
    sampling: [],
    providers: {},
    models: {},
  });
});

test("without a file each provider whose usual key is set is available, and scripted/plan stays the default", async () => {
  assert.deepEqual(modelsWithoutFile({ OPENAI_API_KEY: " " }).providers, {});
  const config = modelsWithoutFile({ ANTHROPIC_API_KEY: "canary" });
  assert.deepEqual(config.providers, { anthropic: { type: "anthropic" } });
  assert.equal(config.default, "scripted/plan");
  const registry = createModelRegistry(config, { ANTHROPIC_API_KEY: "canary" });
  const run = { plan: null, input: "hello" };
  assert.equal((await registry.open("anthropic/claude-x", run)).modelId, "claude-x");
  await assert.rejects(registry.open("openai/gpt-x", run), { code: "unknown_model" });
});

test("refuses an invalid file, with its path and the position of the mistake", () => {
  const cases: [string, RegExp][] = [
    ["{", /^models\.json is not JSON: /],
    ['{"provider":{}}', /^models\.json has errors: .*provider/],
    ['{"providers":{"a":{"type":"anthropic","apiKey":"sk-1"}}}', /providers\.a: .*apiKey/],
    ['{"providers":{"a":{"type":"openai-compatible"}}}', /providers\.a\.baseURL: /],
    [
      '{"providers":{"a":{"type":"openai-compatible","baseURL":"file:///etc"}}}',
      /http or https URL/,
    ],
    [
      '{"providers":{"a":{"type":"openai","apiKeyEnv":"sk-abc"}}}',
      /name of an environment variable/,
    ],
    ['{"providers":{"scripted":{"type":"openai"}}}', /scripted and replay are built in/],
    ['{"default":"openai/gpt"}', /default: there is no provider "openai"/],
    ['{"default":"gpt"}', /default: must look like provider\/model/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseModels("models.json", text), { message }, text);
  }
});

test("a changed file counts without a restart, and one with a mistake leaves the models before it in use", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "models-"));
  const path = join(directory, "models.json");
  const write = async (text: string) => {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };
  const local = (port: number) => ({
    local: { type: "openai-compatible", baseURL: `http://127.0.0.1:${port}/v1` },
  });
  await write(JSON.stringify({ providers: local(1) }));
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const models = await openModelsFile(
    path,
    createLog({ service: "runner", level: "info", destination }),
  );
  t.after(async () => {
    models.close();
    await rm(directory, { recursive: true });
  });
  const registry = createModelRegistry(models.config, {});
  assert.equal(registry.defaultModel, "scripted/plan");

  await write(JSON.stringify({ default: "local/small", providers: local(2) }));
  await until(() => registry.defaultModel === "local/small");
  assert.match((await registry.scopeOf("local/small"))?.key ?? "", /^local:/);
  await write('{ "default": "missing/model" }');
  const refused = await until(() => lines.find(({ level }) => level === "error"));
  assert.equal(refused["file"], path);
  assert.match(JSON.stringify(refused["err"]), /there is no provider \\"missing\\"/);
  assert.equal(registry.defaultModel, "local/small");
});
