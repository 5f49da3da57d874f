import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, DENIED } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const model = await startModelServer();
const modelsFile = join(await testDirectory(), "models.json");
const provider = { type: "openai-compatible", baseURL: `${model.url}/v1` };
await writeFile(modelsFile, JSON.stringify({ default: "local/m", providers: { local: provider } }));
await lab.runner({ YARD_MODELS_FILE: modelsFile });
services.agents.set("boss", agent("boss", { model: null }));

test("a run is not offered the tool agent when the policy denies all its calls, and a call of it is recorded as denied", async () => {
  services.hooks.mayEver = () => false;
  services.hooks.check = () => DENIED;
  const asking = { id: "a", name: "agent", args: '{"task":"x"}' };
  model.answer({ calls: [asking] }, { text: ["done"] });
  await lab.command("boss", { runId: "alone", input: "x" });
  const events = await lab.eventsUntil("alone", "finished");
  const denied = events.find(({ name }) => name === "tool-denied");
  assert.deepEqual(denied?.payload["decision"], DENIED);
  assert.deepEqual(shownIn(0), ["read_result", "ask_user", "wait"]);
  assert.deepEqual(shownIn(1), ["read_result", "ask_user", "wait"]);
});

test("a run is offered it when some of its calls may pass", async () => {
  services.hooks.mayEver = (tool) => tool === "agent";
  model.answer({ text: ["done"] });
  await lab.command("boss", { runId: "leading", input: "x" });
  await lab.eventsUntil("leading", "finished");
  assert.deepEqual(shownIn(2), ["read_result", "ask_user", "wait", "agent", "child_runs"]);
});

/** The names of the tools that the n-th request to the model offered. */
function shownIn(request: number): string[] {
  const asked = model.requests[request];
  assert.ok(asked !== undefined);
  // The request is the SDK's, in the protocol's own form.
  const { tools = [] } = asked.body as { tools?: { function: { name: string } }[] };
  return tools.map((tool) => tool.function.name);
}
