import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startChatServer, textChunks } from "../../test-fixtures/chat-server.ts";
import { agent, answering, labTool, skill } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { agents, skills, tools, grants, tokens } = lab.services;
const chat = await startChatServer();
const modelsFile = join(await testDirectory(), "models.json");
const local = { type: "openai-compatible", baseURL: chat.baseURL };
await writeFile(modelsFile, JSON.stringify({ default: "local/m", providers: { local } }));
await lab.runner({ YARD_RUNNER_SLOTS: "4", YARD_MODELS_FILE: modelsFile });
tools.set("echo", () => "heard");

test("the model gets the text of preloaded skills with its instructions, and that of the command's skill as the message; a missing one is passed over [B2, D18, DR7]", async () => {
  skills.set("house-rules", skill("house-rules", { text: "Write short sentences." }));
  skills.set("greet", skill("greet", { text: "Greet the person." }));
  const own = { model: "local/m", temperature: 0.25, systemPrompt: "You are a host." };
  const tellsOfSkills = { ...own, skills: ["house-rules", "gone"], tools: [labTool("echo")] };
  agents.set("host", agent("host", tellsOfSkills));
  chat.answer({ chunks: textChunks("Hello Ada.") });
  await lab.command("host", { runId: "hosted", input: "Ada", skill: "greet" });
  await lab.eventsUntil("hosted", "finished");

  const [request] = chat.requests;
  assert.equal(request?.["temperature"], 0.25);
  // The protocol of the chat server.
  const [system, user] = (request?.["messages"] ?? []) as { role: string; content: string }[];
  assert.match(system?.content ?? "", /^You are a host\.[^]*Write short sentences\./);
  assert.match(user?.content ?? "", /^Greet the person\.\n\nARGUMENTS: Ada$/);
  const offered = request?.["tools"] as { function: { name: string } }[];
  const names = offered.map((tool) => tool.function.name);
  assert.deepEqual(
    names.filter((name) => name !== "skill"),
    ["read_result", labTool("echo")],
  );
});

test("gives a run no tool that a preloaded skill leaves out [D51] [SEC-SKILL-04]", async () => {
  skills.set("reader", skill("reader", { allowedTools: ["mcp__lab__read", "read_file"] }));
  skills.set("careful", skill("careful", { disallowedTools: ["write_file"] }));
  const own = { tools: ["mcp__lab__*"], skills: ["reader", "careful"] };
  agents.set("loaded", answering("loaded", "done", own));
  await lab.command("loaded", { runId: "loaded", input: "x" });
  await lab.eventsUntil("loaded", "finished");
  assert.deepEqual(grantsOf("cli~loaded"), [
    [["mcp__lab__*"], ["mcp__lab__read", "read_file"], ["*", "!write_file"]],
  ]);
});

test("a skill that the model activates takes tools away from the calls beside it and from all later ones [D51] [X26]", async () => {
  skills.set("narrow", skill("narrow", { allowedTools: ["mcp__lab__echo"] }));
  const activation = { tool: "skill", with: { name: "narrow" } };
  const echo = { tool: labTool("echo"), with: {} };
  agents.set(
    "wide",
    agent("wide", {
      tools: ["mcp__lab__*"],
      plan: {
        steps: [{ calls: [echo] }, { calls: [echo, activation] }, { calls: [echo] }],
        answer: "done",
      },
    }),
  );
  await lab.command("wide", { runId: "wide", input: "x" });
  await lab.eventsUntil("wide", "finished");

  const [before, after, ...more] = grantsOf("cli~wide");
  assert.deepEqual(before, [["mcp__lab__*"]]);
  assert.deepEqual(after, [["mcp__lab__*"], ["mcp__lab__echo"]]);
  assert.deepEqual(more, []);
  const wide = tokens.get("cli~wide:1:0");
  const narrow = tokens.get("cli~wide:2:0");
  assert.notEqual(narrow, wide);
  assert.equal(tokens.get("cli~wide:3:0"), narrow);
});

test("a child run gets no more tools than its parent has after a skill took some away [D51]", async () => {
  skills.set("strict", skill("strict", { allowedTools: ["agent", "mcp__lab__echo"] }));
  agents.set("helper", answering("helper", "helped"));
  agents.set(
    "parent",
    agent("parent", {
      plan: {
        steps: [
          { calls: [{ tool: "skill", with: { name: "strict" } }] },
          { calls: [{ tool: "agent", with: { agent: "helper", task: "help" } }] },
        ],
        answer: "done",
      },
    }),
  );
  await lab.command("parent", { runId: "parent", input: "x" });
  await lab.eventsUntil("parent", "finished");
  // The parent's token is requested on the child's behalf, and the child's is made from it.
  const child = grants.findIndex((grant) => grant.agent === "helper");
  const parents = grants.slice(0, child).filter(({ runId }) => runId === "cli~parent");
  assert.deepEqual(parents.at(-1)?.tools, [["agent", "mcp__lab__echo"]]);
  assert.ok(grants[child]?.parentToken !== undefined);
});

test("requests from the policy the approval level that the agent's own file requires", async () => {
  agents.set("asking", answering("asking", "done", { approval: "always" }));
  agents.set("silent", answering("silent", "done"));
  await Promise.all(
    ["asking", "silent"].map(async (name) => {
      await lab.command(name, { runId: name, input: "x" });
      await lab.eventsUntil(name, "finished");
    }),
  );
  const approvalOf = (runId: string) => grants.find((grant) => grant.runId === runId)?.approval;
  assert.equal(approvalOf("cli~asking"), "always");
  assert.equal(approvalOf("cli~silent"), undefined);
});

function grantsOf(runId: string): string[][][] {
  return grants.filter((grant) => grant.runId === runId).map((grant) => grant.tools);
}

test("a skill that stands for a tool needs no model that could answer", async () => {
  tools.set("say", ({ command }) => `said ${String(command)}`);
  skills.set("say", skill("say", { dispatch: labTool("say") }));
  agents.set("mute", agent("mute", { model: "scripted/plan", plan: null }));
  await lab.command("mute", { runId: "mute", input: "hello", skill: "say" });
  const events = await lab.eventsUntil("mute", ({ name }) => /finished|rejected/.test(name));
  assert.equal(events.at(-1)?.payload["output"], "said hello");
});

test("a retry makes the call of such a skill again, under its id", async () => {
  let isUp = false;
  tools.set("moody", (_args, { fail }) => {
    if (isUp) return "done";
    throw fail.tool_failed("the machine is off", { reason: "off" });
  });
  skills.set("moody", skill("moody", { dispatch: labTool("moody") }));
  await lab.command("mute", { runId: "moody", input: "x", skill: "moody" });
  await lab.eventsUntil("moody", "failed");
  isUp = true;
  await lab.publish("yard.cmd.cli.run.retry.moody", "{}");
  const events = await lab.eventsUntil("moody", "finished");
  assert.equal(events.at(-1)?.payload["output"], "done");
  const asked = events.filter(({ name }) => name === "tool-requested");
  assert.deepEqual(
    asked.map(({ payload }) => payload["callId"]),
    ["cli~moody:1:0", "cli~moody:1:0"],
  );
});
