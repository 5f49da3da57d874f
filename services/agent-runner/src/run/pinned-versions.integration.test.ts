import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import { agent, DIGEST, labTool, skill } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const policy = await connectBus({ servers: lab.nats.url, user: "policy" });
after(() => policy.close());
const model = await startModelServer();
const modelsFile = join(await testDirectory(), "models.json");
await writeFile(
  modelsFile,
  JSON.stringify({
    default: "local/m",
    providers: { local: { type: "openai-compatible", baseURL: `${model.url}/v1` } },
  }),
);
await lab.runner({ YARD_MODELS_FILE: modelsFile });

const ask = { id: "q", name: "ask_user", args: '{"question":"?"}' };
const NEW_DIGEST = `sha256:${"e".repeat(64)}`;

test("a run that waits through a deploy continues with the agent, skills and limits that it began with", async () => {
  const whole = { model: null, systemPrompt: "You are the first.", maxSteps: 5 };
  services.agents.set("pinned", agent("pinned", whole));
  services.skills.set("notes", skill("notes"));
  model.answer({ calls: [ask] });
  await lab.command("pinned", { runId: "old", input: "x" });
  await lab.eventsUntil("old", "waiting");

  const replaced = { model: null, systemPrompt: "You are the second.", maxSteps: 1, tools: [] };
  services.agents.set("pinned", agent("pinned", { ...replaced, digest: NEW_DIGEST }));
  const { summary } = skill("notes", { description: "other notes" });
  services.skills.set("notes", { ...skill("notes"), summary: { ...summary, digest: NEW_DIGEST } });
  const loading = { id: "s", name: "skill", args: '{"name":"notes"}' };
  model.answer({ calls: [loading] }, { text: ["done"] });
  await call(lab.bus, answerQuestion, { runId: "old", callId: "cli~old:1:0", answer: "go" });
  await lab.eventsUntil("old", "finished");

  const prompts = model.requests.map(({ body }) => JSON.stringify(body["messages"]));
  assert.equal(prompts.length, 3);
  for (const prompt of prompts) {
    assert.match(prompt, /You are the first/);
    assert.match(prompt, /does notes/);
  }
  assert.deepEqual(services.rendered.at(-1), { name: "notes", digest: DIGEST });
  const { run } = await call(lab.bus, getRun, { runId: "old" });
  assert.deepEqual([run.agentDigest, run.policyDigest], [DIGEST, DIGEST]);

  model.answer({ text: ["done"] });
  await lab.command("pinned", { runId: "new", input: "x" });
  const [started] = await lab.eventsUntil("new", "finished");
  assert.equal(started?.payload["agentDigest"], NEW_DIGEST);
  assert.equal(started?.payload["policyDigest"], DIGEST);
  assert.match(JSON.stringify(model.requests.at(-1)?.body), /You are the second/);
});

test("a tool that changed since the model was shown it is not called, and the model gets an error and the new tool", async () => {
  services.agents.set("caller", agent("caller", { model: null }));
  services.tools.set("write", ({ path }) => `wrote ${String(path)}`);
  services.schemas.set("write", { properties: { path: { type: "string" } } });
  const write = { id: "w", name: labTool("write"), args: '{"path":"a"}' };
  const approvalId = `apr-${"2".repeat(32)}`;
  services.tools.set("guarded", (_args, { fail }) => {
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    throw fail.approval_required("a person must approve", {
      approvalId,
      expiresAt,
      tier: "always",
    });
  });
  const guarded = { id: "g", name: labTool("guarded"), args: "{}" };
  model.answer({ calls: [write, guarded] });
  await lab.command("caller", { runId: "changed", input: "x" });
  await lab.eventsUntil("changed", "waiting");

  // The definition of the tool that waits for approval changes, and that of a tool that was called already.
  for (const name of ["write", "guarded"])
    services.schemas.set(name, { properties: { target: {} } });
  model.answer({ text: ["done"] });
  await decideApproval(policy, { approvalId, callId: "cli~changed:1:1", tool: "guarded" });
  const events = await lab.eventsUntil("changed", "finished");
  const failed = events.filter(({ name }) => name === "tool-failed");
  assert.deepEqual(
    failed.map(({ payload }) => [payload["callId"], payload["code"]]),
    [["cli~changed:1:1", "tool_changed"]],
  );
  assert.equal(services.requested.get("cli~changed:1:1"), 1, "not sent again after the change");
  assert.equal(services.executed.get("cli~changed:1:0"), 1);
  const last = JSON.stringify(model.requests.at(-1)?.body);
  assert.match(last, /not what you were shown any more/);
  assert.match(last, /"target"/);
});
