import { test } from "node:test";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { startProtocolsWorld } from "../lib/protocols-world.ts";
import { pythonPackages } from "../lib/python-packages.ts";

const fileOf = (name: string): string =>
  fileURLToPath(new URL(`python-clients/${name}`, import.meta.url));
const [newest, older, litellm, llamaIndex, generator, schemathesis] = await Promise.all([
  pythonPackages(fileOf("requirements.txt")),
  pythonPackages(fileOf("requirements-older.txt")),
  pythonPackages(fileOf("requirements-litellm.txt")),
  pythonPackages(fileOf("requirements-llama-index.txt")),
  pythonPackages(fileOf("requirements-openapi.txt")),
  pythonPackages(fileOf("requirements-schemathesis.txt")),
]);
const isNone = [newest, older, litellm, llamaIndex, generator, schemathesis].every(
  (packages) => "skip" in packages,
);
const world = isNone ? null : await startProtocolsWorld();

const clients = [
  ["openai, of today", newest, "openai_client.py"],
  ["openai, of a year ago", older, "openai_client.py"],
  ["LangChain", newest, "langchain_client.py"],
  ["Pydantic AI", newest, "pydantic_client.py"],
  ["OpenAI's Agents SDK", newest, "agents_client.py"],
  ["LiteLLM", litellm, "litellm_client.py"],
  ["LlamaIndex", llamaIndex, "llama_index_client.py"],
  ["a client made of openapi.json", generator, "generated_client.py"],
  ["Schemathesis", schemathesis, "schemathesis_client.py"],
  ["A2A", newest, "a2a_client.py"],
  ["AG-UI", newest, "ag_ui_client.py"],
] as const;

void test(
  "Python's clients of the protocols accept every answer and every record of a stream",
  { concurrency: 2 },
  async (context) => {
    await Promise.all(
      clients.map(([name, packages, script]) =>
        context.test(name, { skip: "skip" in packages ? packages.skip : false }, async () => {
          const { url, token } = world ?? assert.fail();
          if ("skip" in packages) return;
          assert.match(await packages.run(fileOf(script), { BASE: url, TOKEN: token }), /^ok/);
        }),
      ),
    );
  },
);
