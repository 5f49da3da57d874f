import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/runs";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { installedCli } from "../../test-fixtures/installed-cli.ts";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, DENIED, labTool } from "../../test-fixtures/peers.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const codex = await installedCli({ name: "@openai/codex", version: "0.169.0", program: "codex" });

test(
  "Codex works as a runtime: its calls are decided, a denied one is seen as denied, and the usage counts",
  {
    skip: "skip" in codex ? codex.skip : false,
  },
  async () => {
    assert.ok("path" in codex);
    const lab = await startLab();
    const model = await startModelServer();
    const directory = await testDirectory();
    const modelsFile = join(directory, "models.json");
    const provider = {
      type: "runtime",
      cli: "codex",
      command: [codex.path],
      baseURL: `${model.url}/v1`,
      apiKeyEnv: "TEST_MODEL_KEY",
      sandbox: "off",
    };
    await writeFile(modelsFile, JSON.stringify({ providers: { codex: provider } }));
    await lab.runner({
      YARD_MODELS_FILE: modelsFile,
      YARD_RUNTIME_DIR: join(directory, "runtimes"),
      TEST_MODEL_KEY: "canary-key",
    });
    lab.peers.agents.set("coder", agent("coder", { model: "codex/gpt-5", tools: ["mcp__lab__*"] }));
    lab.peers.tools.set("read", ({ path }) => `contents of ${String(path)}`);
    lab.peers.tools.set("write", (_args, { fail }) => {
      throw fail.denied(DENIED.reason, DENIED);
    });
    const namespace = "mcp__switchyard";
    model.answer(
      { calls: [{ id: "c1", name: labTool("read"), args: '{"path":"a"}', namespace }] },
      { calls: [{ id: "c2", name: labTool("write"), args: "{}", namespace }] },
      { text: ["All ", "done."] },
    );

    await lab.command("coder", { runId: "codex", input: "/Read a and write it." });
    const events = await lab.eventsUntil(
      "codex",
      ({ name }) => name === "finished" || name === "failed",
    );
    assert.equal(events.at(-1)?.payload["output"], "All done.", JSON.stringify(events.at(-1)));
    const names = events.map(({ name }) => name);
    assert.equal(names.filter((name) => name === "tool-requested").length, 2);
    assert.equal(names.filter((name) => name === "tool-denied").length, 1);
    const seen = JSON.stringify(model.requests.map(({ body }) => body["input"]));
    assert.match(seen, /\/Read a and write it/);
    assert.match(seen, /contents of a/);
    assert.match(seen, /rule no-writes denies it/);
    assert.doesNotMatch(seen, /canary-key/);
    const { run } = await call(lab.bus, getRun, { runId: "codex" });
    assert.equal(run.usage.inputTokens, 300);
    assert.equal(run.usage.outputTokens, 60);
  },
);
