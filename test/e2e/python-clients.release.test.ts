import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { startProtocolsWorld } from "../lib/protocols-world.ts";
import { pythonPackages } from "../lib/python-packages.ts";

const fileOf = (name: string): string =>
  fileURLToPath(new URL(`python-clients/${name}`, import.meta.url));
const [newest, older, litellm, llamaIndex, generator, schemathesis, own] = await Promise.all([
  pythonPackages(fileOf("requirements.txt")),
  pythonPackages(fileOf("requirements-older.txt")),
  pythonPackages(fileOf("requirements-litellm.txt")),
  pythonPackages(fileOf("requirements-llama-index.txt")),
  pythonPackages(fileOf("requirements-openapi.txt")),
  pythonPackages(fileOf("requirements-schemathesis.txt")),
  pythonPackages(fileOf("requirements-switchyard.txt")),
]);
const isNone = [newest, older, litellm, llamaIndex, generator, own].every(
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

// Its requests stop calls and change rules, so it has a world of its own.
test(
  "Schemathesis gets no undeclared answer and no fault from any operation of openapi.json",
  { skip: "skip" in schemathesis ? schemathesis.skip : false },
  async () => {
    if ("skip" in schemathesis) return;
    const { url, token } = await startProtocolsWorld();
    const script = fileOf("schemathesis_client.py");
    assert.match(await schemathesis.run(script, { BASE: url, TOKEN: token }), /^ok/);
  },
);

const noOwn = "skip" in own ? own.skip : false;

test(
  "the wheel of the Python client starts, follows, approves, cancels and reads runs, and mypy accepts its use",
  { skip: noOwn },
  async () => {
    const { url, token } = world ?? assert.fail();
    if ("skip" in own) return;
    const scratch = await mkdtemp(join(tmpdir(), "yard-wheel-"));
    after(() => rm(scratch, { recursive: true, force: true }));
    const source = fileURLToPath(new URL("../../clients/python", import.meta.url));
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, PYTHONPATH: own.directory };
    const run = async (command: string, args: readonly string[], cwd = scratch, more = {}) =>
      (await promisify(execFile)(command, args, { cwd, env: { ...env, ...more } })).stdout;

    await run("python3", ["-m", "hatchling", "build", "-t", "wheel", "-d", scratch], source);
    const wheel = (await readdir(scratch)).find((name) => name.endsWith(".whl")) ?? assert.fail();
    // An environment finds its library from the interpreter itself, not from a link to it.
    const real = "import os, sys; print(os.path.realpath(sys.executable))";
    const python = (await run("python3", ["-c", real])).trim();
    const venv = join(scratch, "venv");
    await run(python, ["-m", "venv", venv], scratch, { PYTHONPATH: "" });
    const installed = join(venv, "bin/python");
    const install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel];
    await run(installed, install, scratch, { PYTHONPATH: "" });

    const use = fileOf("switchyard_use.py");
    assert.equal(await run(installed, [use], scratch, { BASE: url, TOKEN: token }), "ok\n");
    const mypy = ["-m", "mypy", "--strict", "--cache-dir", join(scratch, "mypy"), use];
    assert.match(await run(installed, mypy), /no issues found in 1 source file/);
  },
);
