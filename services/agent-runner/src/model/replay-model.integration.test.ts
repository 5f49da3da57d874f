import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { getRecording, RecordedRun } from "@switchyard/contracts/agent-runner/run-recordings";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const directory = await testDirectory();
const lab = await startLab();
const server = await startModelServer();
const file = join(directory, "models.json");
const claude = { type: "anthropic", baseURL: `${server.url}/v1`, apiKeyEnv: "KEY" };
await writeFile(
  file,
  JSON.stringify({ providers: { claude }, models: { "scripted/plan": { contextWindow: 6_000 } } }),
);
await lab.runner({ YARD_MODELS_FILE: file, KEY: "secret" });

let weather = "rain";
lab.services.tools.set("weather", () => weather);
lab.services.agents.set("asker", agent("asker", { model: "claude/large" }));

const endOf = async (runId: string) => {
  const events = await lab.eventsUntil(runId, ({ name }) =>
    ["finished", "failed", "rejected"].includes(name),
  );
  return events.at(-1);
};
const recordingOf = async (runId: string): Promise<RecordedRun> =>
  // Through JSON, as a file has it.
  RecordedRun.parse(JSON.parse(JSON.stringify((await call(lab.bus, getRecording, { runId })).run)));
const replay = async (runId: string, { agent: name, input, output, recording }: RecordedRun) => {
  await lab.command(name, { runId, input, output, replay: recording });
  return endOf(runId);
};

/** Records a run whose model looks up the weather and reports it. */
async function recordedRun(runId: string): Promise<RecordedRun> {
  weather = "rain";
  server.answer(
    {
      text: ["Looking."],
      calls: [{ id: "toolu_1", name: labTool("weather"), args: '{"at":"x"}' }],
    },
    { text: ["It rains."] },
  );
  await lab.command("asker", { runId, input: "how is the weather?" });
  assert.equal((await endOf(runId))?.payload["output"], "It rains.");
  return recordingOf(runId);
}

test("a run of a real provider is replayed without calling it, and its tools are called again", async () => {
  const recorded = await recordedRun("real");
  assert.deepEqual([recorded.agent, recorded.model], ["asker", "claude/large"]);
  const asked = server.requests.length;
  const granted = lab.services.grants.length;
  const end = await replay("again", recorded);
  assert.equal(end?.payload["output"], "It rains.");
  assert.equal(server.requests.length, asked);
  assert.equal(lab.services.executed.get("cli~again:1:0"), 1);
  const marks = lab.services.grants.slice(granted).map(({ origin }) => origin);
  assert.ok(marks.length > 0);
  for (const origin of marks)
    assert.deepEqual([origin?.replayed, origin?.dictatedBy], [true, "cli"], "its token reports it");
  const [started] = await lab.eventsUntil("again", "started");
  assert.equal(started?.payload["replayed"], true);
  // A replayed run is a recording itself.
  assert.equal((await replay("once-more", await recordingOf("again")))?.name, "finished");
});

test("copies, copies of copies, children and retries of a run that plays a recording are marked like it", async () => {
  const { agents, grants } = lab.services;
  const calls = [{ tool: "agent", with: { agent: "helper", task: "x" }, as: "child" }];
  agents.set("boss", agent("boss", { plan: { steps: [{ calls }], answer: "done" } }));
  agents.set("helper", agent("helper", { plan: { steps: [], answer: "helped" } }));
  const fork = async (source: string, newRunId: string, body: object): Promise<void> => {
    const command = { newRunId, fromStep: 1, model: "scripted/plan", ...body };
    await lab.publish(`yard.cmd.cli.run.fork.${source}`, JSON.stringify(command));
    await lab.eventsUntil(newRunId, "finished");
  };
  await fork("again", "copy", { agent: "boss" });
  const child = (await lab.eventsUntil("copy", "child-started")).at(-1)?.payload["childRunId"];
  const childId = String(child).replace("cli~", "");
  await fork("copy", "copy-of-copy", { agent: "helper" });
  await fork(childId, "copy-of-child", {});
  for (const runId of ["copy", "copy-of-copy", childId, "copy-of-child"]) {
    const [started] = await lab.eventsUntil(runId, "started");
    assert.equal(started?.payload["replayed"], true, runId);
    const origins = grants.filter((one) => one.runId === `cli~${runId}`).map((one) => one.origin);
    assert.ok(origins.length > 0, runId);
    for (const origin of origins)
      assert.deepEqual([origin?.replayed, origin?.dictatedBy], [true, "cli"], runId);
  }
  await fork("real", "copy-of-real", { agent: "helper" });
  const [plain] = await lab.eventsUntil("copy-of-real", "started");
  assert.equal(plain?.payload["replayed"], undefined, "what no recording dictated is not marked");

  weather = "sun";
  await replay("retried", await recordingOf("real"));
  const granted = grants.length;
  await lab.publish("yard.cmd.cli.run.retry.retried", "{}");
  await lab.eventsUntil("retried", "retried");
  await until(() => grants.slice(granted).some(({ runId }) => runId === "cli~retried"));
  for (const { runId, origin } of grants.slice(granted))
    if (runId === "cli~retried") assert.equal(origin?.replayed, true);
});

test("a run that diverges from the recorded one fails at that step, and names the difference", async () => {
  const recorded = await recordedRun("other");
  weather = "sun";
  const changed = await replay("sunny", recorded);
  assert.equal(changed?.name, "failed");
  const said = JSON.stringify(changed.payload);
  assert.match(said, /replay_mismatch/);
  assert.match(said, /step 2 is not the recorded one: message 3 of 3 is another/);

  const asked = await replay("other-input", { ...recorded, input: "and tomorrow?" });
  assert.match(JSON.stringify(asked?.payload), /step 1 is not .* message 1 of 1 is another/);

  weather = "rain";
  const { answers } = recorded.recording;
  const short = { ...recorded.recording, answers: answers.slice(0, 1) };
  const ended = await replay("too-short", { ...recorded, recording: short });
  assert.match(JSON.stringify(ended?.payload), /the recording ends before step 2/);

  lab.services.agents.set(
    "asker",
    agent("asker", { model: "claude/large", systemPrompt: "Be rude." }),
  );
  const instructed = await replay("instructed", recorded);
  assert.match(JSON.stringify(instructed?.payload), /step 1 .* the instructions are others/);
});

test("a run whose conversation was compacted is played with the recorded summaries", async () => {
  let count = 0;
  lab.services.tools.set("next", () => `${(count += 1)} ${"x".repeat(1_000)}`);
  const repeat = { while: { at: "/last/isError", equals: false }, times: 30 };
  const calls = [{ tool: labTool("next"), with: {}, as: "last" }];
  const plan = { steps: [{ calls, repeat }], answer: "done" };
  lab.services.agents.set("narrow", agent("narrow", { maxSteps: 31, plan }));
  await lab.command("narrow", { runId: "compacted", input: "count" });
  assert.equal((await endOf("compacted"))?.name, "finished");
  const recorded = await recordingOf("compacted");
  assert.ok(recorded.recording.summaries.length > 0);
  assert.equal(recorded.recording.contextWindow, 6_000, "the model's window is not needed");
  count = 0;
  assert.equal((await replay("compacted-again", recorded))?.payload["output"], "done");
});

test("an answer in a form is played in that form", async () => {
  const output = { type: "object", required: ["sunny"] };
  const calls = [{ id: "toolu_9", name: "final_answer", args: '{"sunny":true}' }];
  server.answer({ text: [], calls });
  await lab.command("asker", { runId: "formed", input: "is it sunny?", output });
  assert.equal((await endOf("formed"))?.payload["output"], '{"sunny":true}');
  const recorded = await recordingOf("formed");
  assert.deepEqual(recorded.output, output);
  assert.equal((await replay("formed-again", recorded))?.payload["output"], '{"sunny":true}');
});

test("reports a run that cannot be recorded or replayed", async () => {
  const said = { input: "hello", session: "talk" };
  for (const runId of ["said-1", "said-2"]) {
    server.answer({ text: ["Hello."] });
    await lab.command("asker", { runId, ...said });
    assert.equal((await endOf(runId))?.name, "finished");
  }
  await recordingOf("said-1");
  await assert.rejects(call(lab.bus, getRecording, { runId: "said-2" }), /first message/);
  await assert.rejects(call(lab.bus, getRecording, { runId: "nobody" }), (error) =>
    isError(error, getRecording, "unknown_run"),
  );
  await lab.command("asker", { runId: "no-recording", input: "x", model: "replay/recording" });
  const end = await endOf("no-recording");
  assert.equal(end?.name, "rejected");
  assert.equal(end.payload["code"], "recording_missing");
});
