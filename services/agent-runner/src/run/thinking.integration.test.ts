import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { forkRun } from "@switchyard/contracts/agent-runner/run-commands";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { getSession, sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const model = await startModelServer();
const modelsFile = join(await testDirectory(), "models.json");
const local = { type: "openai-compatible", baseURL: `${model.url}/v1` };
await writeFile(modelsFile, JSON.stringify({ default: "local/m", providers: { local } }));
const lab = await startLab();
await lab.runner({ YARD_MODELS_FILE: modelsFile });
lab.services.tools.set("echo", () => "heard");
lab.services.agents.set("plain", agent("plain", { model: "local/m" }));
lab.services.agents.set("deep", agent("deep", { model: "local/m", thinking: "high" }));

const asked = (): unknown[] => model.requests.map(({ body }) => body["reasoning_effort"]);

test("a run thinks at the level of its command, else at its agent's, in each of its steps [F9]", async () => {
  const echo = { id: "call_1", name: labTool("echo"), args: "{}" };
  model.answer({ calls: [echo] }, { text: ["done"] });
  await lab.command("deep", { runId: "own", input: "x" });
  await lab.eventsUntil("own", "finished");
  assert.deepEqual(asked(), ["high", "high"]);
  for (const [runId, name, thinking] of [
    ["less", "deep", "low"],
    ["none", "deep", "off"],
    ["said", "plain", "medium"],
    ["unsaid", "plain", undefined],
  ] as const) {
    model.answer({ text: ["done"] });
    await lab.command(name, { runId, input: "x", thinking });
    await lab.eventsUntil(runId, "finished");
    const { run } = await call(lab.bus, getRun, { runId });
    assert.equal(run.thinking, thinking);
    assert.equal(asked().at(-1), thinking === "off" ? "none" : thinking);
  }
});

test("a copy of a run thinks at the level of the original", async () => {
  model.answer({ text: ["done"] });
  const copy = { newRunId: "copied", fromStep: 1 };
  await publishCommand(lab.bus, forkRun, { runId: "less" }, copy);
  await lab.eventsUntil("copied", "finished");
  assert.equal(asked().at(-1), "low");
});

test("a run, and a copy of it, samples as its command says, before the agent's own setting", async () => {
  lab.services.agents.set("warm", agent("warm", { model: "local/m", temperature: 1.5 }));
  const settings = ["temperature", "top_p", "seed", "stop", "max_tokens", "presence_penalty"];
  const sampled = () => settings.map((name) => model.requests.at(-1)?.body[name]);
  const sampling = {
    temperature: 0.2,
    topP: 0.9,
    seed: 7,
    stopSequences: ["END"],
    maxOutputTokens: 50,
    presencePenalty: -1,
  };
  model.answer({ text: ["done"] }, { text: ["done"] }, { text: ["done"] });
  await lab.command("warm", { runId: "chosen", input: "x", sampling });
  await lab.eventsUntil("chosen", "finished");
  assert.deepEqual(sampled(), [0.2, 0.9, 7, ["END"], 50, -1]);
  const copy = { newRunId: "same", fromStep: 1 };
  await publishCommand(lab.bus, forkRun, { runId: "chosen" }, copy);
  await lab.eventsUntil("same", "finished");
  assert.deepEqual(sampled(), [0.2, 0.9, 7, ["END"], 50, -1]);
  await lab.command("warm", { runId: "own-words", input: "x" });
  await lab.eventsUntil("own-words", "finished");
  assert.deepEqual(sampled(), [1.5, undefined, undefined, undefined, undefined, undefined]);
});

test("an unknown level is refused with a list of the known ones [F9]", async () => {
  await lab.command("plain", { runId: "loud", input: "x", thinking: "loud" });
  const events = await lab.eventsUntil("loud", "rejected");
  assert.match(
    JSON.stringify(events.at(-1)?.payload),
    /thinking: must be one of off, none, minimal, low, medium, high, xhigh, max/,
  );
});

test("a message of a session may set the level for its own run, and the session shows that of its last run [F6] [F9]", async () => {
  model.answer({ text: ["one"] }, { text: ["two"] });
  const say = (more: object) =>
    call(lab.bus, sendToSession, { session: "talk", message: "hi", timeoutSeconds: 20, ...more });
  const shown = async () =>
    (await call(lab.bus, getSession, { session: "talk" })).session.lastRun?.thinking;
  assert.equal((await say({ agent: "plain", thinking: "minimal" })).status, "ok");
  assert.equal(asked().at(-1), "minimal");
  assert.equal(await shown(), "minimal");
  assert.equal((await say({})).status, "ok");
  assert.equal(asked().at(-1), undefined);
  // The answer is sent when the run ends; the session notes the end just after it.
  await until(shown, (level) => level === undefined);
});
