import { call } from "@switchyard/bus/call";
import { subscribeLive } from "@switchyard/bus/events";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, listRuns, Usage } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import {
  chunk,
  startChatServer,
  textChunks,
  toolCallChunks,
} from "../../test-fixtures/chat-server.ts";
import {
  agent,
  answering,
  labTool,
  skill,
  SMALLEST_WINDOW,
} from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const chat = await startChatServer();
const modelsFile = join(await testDirectory(), "models.json");
const local = { type: "openai-compatible", baseURL: chat.baseURL };
await writeFile(modelsFile, JSON.stringify({ default: "local/m", providers: { local } }));
await lab.runner({ YARD_RUNNER_SLOTS: "4", YARD_MODELS_FILE: modelsFile });

test("runs a plan from the command to the answer, one event for each fact", async () => {
  const { services } = lab;
  services.tools.set("read", ({ path }) => `contents of ${String(path)}\nsecond line`);
  services.skills.set("reading", skill("reading"));
  services.agents.set(
    "reader",
    agent("reader", {
      tools: ["mcp__lab__*"],
      plan: {
        steps: [
          { say: "First the skill.", calls: [{ tool: "skill", with: { name: "reading" } }] },
          {
            calls: [
              { tool: labTool("read"), with: { path: { $from: "/input/path" } }, as: "one" },
              { tool: labTool("write"), with: { path: "x" }, as: "write" },
            ],
          },
        ],
        answer: "{{/results/one/text | firstLine}}; {{/results/write/text}}",
      },
    }),
  );
  await lab.command("reader", {
    runId: "whole-run",
    input: { path: "a.txt" },
    labels: { team: "a" },
  });

  const events = await lab.eventsUntil("whole-run", "finished");
  assert.deepEqual(events.map(({ name }) => name).toSorted(), [
    "finished",
    "model-responded",
    "model-responded",
    "model-responded",
    "skill-activated",
    "started",
    "tool-completed",
    "tool-completed",
    "tool-denied",
    "tool-requested",
    "tool-requested",
    "tool-requested",
  ]);
  assertNumbered(events);
  const finished = events.at(-1)?.payload;
  assert.equal(
    finished?.["output"],
    "contents of a.txt; the policy denied this call: rule no-writes denies it: tests never write",
  );
  assert.equal(finished?.["model"], "scripted/plan");
  assert.deepEqual(services.grants.at(-1)?.tools, [["mcp__lab__*"]]);

  const { run } = await call(lab.bus, getRun, { runId: "whole-run" });
  assert.equal(run.status, "succeeded");
  assert.equal(run.steps, 3);
  assert.equal(run.toolCalls, 3);
  assert.deepEqual(
    run.skills.map(({ name }) => name),
    ["reading"],
  );
  assert.deepEqual(run.labels, { team: "a" });
  const { runs } = await call(lab.bus, listRuns, { agent: "reader", status: "succeeded" });
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    ["cli~whole-run"],
  );
});

test("reports to the model the calls that cannot be made, and continues", async () => {
  lab.services.skills.set("known", skill("known"));
  lab.services.agents.set(
    "clumsy",
    agent("clumsy", {
      plan: {
        steps: [
          {
            calls: [
              { tool: "no_such_tool", with: {}, as: "a" },
              { tool: "mcp__elsewhere__read", with: {}, as: "b" },
              { tool: "skill", with: { name: "unknown" }, as: "c" },
              { tool: "skill", with: { title: "known" }, as: "d" },
            ],
          },
        ],
        answer: "{{/results | json}}",
      },
    }),
  );
  await lab.command("clumsy", { runId: "clumsy", input: "x" });
  const events = await lab.eventsUntil("clumsy", "finished");
  const results = JSON.parse(String(events.at(-1)?.payload["output"])) as Record<
    string,
    { text: string; isError: boolean }
  >;
  assert.ok(Object.values(results).every(({ isError }) => isError));
  assert.match(results["a"]?.text ?? "", /unknown_tool.*there is no tool no_such_tool/);
  assert.match(results["b"]?.text ?? "", /no_responders/);
  assert.match(results["c"]?.text ?? "", /there is no skill unknown; available are .*known/);
  assert.match(results["d"]?.text ?? "", /invalid_arguments/);
  assert.equal(events.filter(({ name }) => name === "tool-failed").length, 3);
});

test("passes failures of tools to the model and cuts results that are too long", async () => {
  const { tools, agents } = lab.services;
  tools.set("down", (_args, { fail }) => {
    throw fail.server_down("lab is down", {
      server: "lab",
      status: "error",
      lastError: null,
    });
  });
  tools.set("lost", (_args, { fail }) => {
    throw fail.outcome_unknown("the result was lost", { callId: "x" });
  });
  tools.set("errs", () => ({
    content: [],
    isError: true,
    text: "no such file",
    decision: {
      effect: "allow",
      rule: "r",
      reason: "may",
      policyDigest: `sha256:${"a".repeat(64)}`,
    },
    durationMs: 1,
    replayed: false,
  }));
  tools.set("long", () => "0123456789".repeat(10_000));
  agents.set(
    "unlucky",
    agent("unlucky", {
      plan: {
        steps: [
          {
            calls: ["down", "lost", "errs", "long"].map((tool) => ({
              tool: labTool(tool),
              with: {},
              as: tool,
            })),
          },
        ],
        answer:
          "{{/results/down/text}}|{{/results/lost/text}}|{{/results/errs | json}}|{{/results/long/text}}",
      },
    }),
  );
  await lab.command("unlucky", { runId: "unlucky", input: "x" });
  const events = await lab.eventsUntil("unlucky", "finished");
  const reported = String(events.at(-1)?.payload["output"]);
  assert.equal(Buffer.byteLength(reported), 16_384, "an event carries the beginning");
  const { run } = await call(lab.bus, getRun, { runId: "unlucky" });
  const [down, lost, errs, long = ""] = String(run.output).split("|");
  assert.equal(down, "tool call failed (server_down): lab is down");
  assert.equal(lost, "tool call failed (outcome_unknown): the result was lost");
  assert.equal(errs, '{"text":"no such file","isError":true}');
  assert.ok(long.endsWith("[cut: 34464 more bytes are not shown]"));
  const completed = events.filter(({ name }) => name === "tool-completed");
  assert.equal(
    completed.find(({ payload }) => payload["tool"] === labTool("long"))?.payload["textBytes"],
    100_000,
  );
});

test("sends a call again under the same id while the policy is unavailable", async () => {
  const { tools, agents, requested } = lab.services;
  let refusals = 2;
  tools.set("guarded", (_args, { fail }) => {
    if (refusals === 0) return "done";
    refusals -= 1;
    throw fail.policy_unavailable("policy is away", { cause: "timeout" });
  });
  agents.set(
    "patient",
    agent("patient", {
      plan: {
        steps: [{ calls: [{ tool: labTool("guarded"), with: {}, as: "r" }] }],
        answer: "{{/results/r/text}}",
      },
    }),
  );
  await lab.command("patient", { runId: "patient", input: "x" });
  const events = await lab.eventsUntil("patient", "finished");
  assert.equal(events.at(-1)?.payload["output"], "done");
  assert.equal(requested.get("cli~patient:1:0"), 3);
});

test("releases a run for a while when the policy cannot decide about its calls, and does not report that to the model", async () => {
  const { tools, agents, requested } = lab.services;
  let refusals = 7;
  tools.set("undecided", (_args, { fail }) => {
    if (refusals === 0) return "done";
    refusals -= 1;
    throw fail.policy_unavailable("the audit is full", { cause: "audit_unavailable" });
  });
  agents.set(
    "held-up",
    agent("held-up", {
      plan: {
        steps: [{ calls: [{ tool: labTool("undecided"), with: {}, as: "r" }] }],
        answer: "{{/results/r/text}}",
      },
    }),
  );
  await lab.command("held-up", { runId: "held-up", input: "x" });
  const events = await lab.eventsUntil("held-up", "finished");
  assert.equal(events.at(-1)?.payload["output"], "done");
  assert.equal(requested.get("cli~held-up:1:0"), 8);
});

test("makes a call with an unknown outcome once more where the agent or a person requests it", async () => {
  const { tools, agents, requested } = lab.services;
  let losses = 1;
  tools.set("forgetful", (_args, { fail }) => {
    if (losses === 0) return "done";
    losses -= 1;
    throw fail.outcome_unknown("the result was lost", { callId: "x" });
  });
  const plan = {
    steps: [{ calls: [{ tool: labTool("forgetful"), with: {}, as: "r" }] }],
    answer: "{{/results/r/text}}",
  };
  agents.set("bold", agent("bold", { plan, onUnknownOutcome: "retry" }));
  agents.set("careful", agent("careful", { plan, onUnknownOutcome: "ask" }));
  await lab.command("bold", { runId: "bold", input: "x" });
  const bold = await lab.eventsUntil("bold", "finished");
  assert.equal(bold.at(-1)?.payload["output"], "done");
  assert.deepEqual([requested.get("cli~bold:1:0"), requested.get("cli~bold:1:0:again")], [1, 1]);
  for (const [runId, answer, output, repeats] of [
    ["careful", "fail", /outcome_unknown/, undefined],
    ["sure", "retry", /^done$/, 1],
  ] as const) {
    losses = 1;
    await lab.command("careful", { runId, input: "x" });
    await lab.eventsUntil(runId, "waiting");
    await call(lab.bus, answerQuestion, { runId, callId: `cli~${runId}:1:0`, answer });
    const events = await lab.eventsUntil(runId, "finished");
    assert.match(String(events.at(-1)?.payload["output"]), output);
    assert.equal(requested.get(`cli~${runId}:1:0:again`), repeats);
  }
});

test("applies the agent's own limits and requests its roles", async () => {
  const { tools, agents, grants } = lab.services;
  tools.set("echo", () => "echo");
  const plan = {
    steps: [{ calls: [{ tool: labTool("echo"), with: {} }] }],
    answer: "never",
  };
  const none = { maxTokens: null, maxCostUsd: null, timeoutMs: null, maxDepth: null };
  const limits = { ...none, maxToolCalls: 0 };
  agents.set("bound", agent("bound", { plan, limits, roles: ["reviewer"] }));
  await lab.command("bound", { runId: "bound", input: "x", limits: { maxToolCalls: 5 } });
  const events = await lab.eventsUntil("bound", "failed");
  assert.match(JSON.stringify(events.at(-1)?.payload), /maxToolCalls \(0\)/);
  assert.deepEqual(grants.find(({ runId }) => runId === "cli~bound")?.roles, ["reviewer"]);
});

test("records in the run the skills for which its list had no room", async () => {
  const { agents, skills } = lab.services;
  skills.set("zz-one", skill("zz-one"));
  skills.set("zz-two", skill("zz-two"));
  agents.set("narrow-minded", answering("narrow-minded", "x", { contextWindow: SMALLEST_WINDOW }));
  agents.set("open-minded", answering("open-minded", "x"));
  for (const name of ["narrow-minded", "open-minded"]) {
    await lab.command(name, { runId: name, input: "x" });
    await lab.eventsUntil(name, "finished");
  }
  const narrow = await call(lab.bus, getRun, { runId: "narrow-minded" });
  assert.deepEqual(narrow.run.skillsCut?.dropped.slice(-2), ["zz-one", "zz-two"]);
  const open = await call(lab.bus, getRun, { runId: "open-minded" });
  assert.equal(open.run.skillsCut, undefined);
});

test("fails a run at its limits and names the limit", async () => {
  const { tools, agents } = lab.services;
  tools.set("echo", () => "echo");
  const calls = [{ tool: labTool("echo"), with: {} }];
  agents.set(
    "long",
    agent("long", { plan: { steps: [{ calls }, { calls }, { calls }], answer: "never" } }),
  );
  await lab.command("long", { runId: "steps", input: "x", limits: { maxSteps: 2 } });
  await lab.command("long", { runId: "calls", input: "x", limits: { maxToolCalls: 1 } });
  const failureOf = async (runId: string) =>
    (await lab.eventsUntil(runId, "failed")).at(-1)?.payload["failure"] as {
      code: string;
      message: string;
    };
  assert.deepEqual((await failureOf("steps")).code, "limit_exceeded");
  assert.match((await failureOf("steps")).message, /maxSteps \(2\)/);
  assert.match((await failureOf("calls")).message, /maxToolCalls \(1\)/);
});

test("ends a run whose time is over in the middle of a tool call", async () => {
  const { tools, agents } = lab.services;
  tools.set("hang", (_args, { signal }) => {
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve("too late"));
    });
  });
  agents.set(
    "slow",
    agent("slow", {
      plan: { steps: [{ calls: [{ tool: labTool("hang"), with: {} }] }], answer: "never" },
    }),
  );
  await lab.command("slow", { runId: "slow", input: "x", limits: { timeoutMs: 1_000 } });
  const events = await lab.eventsUntil("slow", "failed");
  assert.match(JSON.stringify(events.at(-1)?.payload["failure"]), /limit_exceeded.*timeoutMs/);
});

test("fails a run by its time limit when its provider gives a call up right before the call's time ends", async () => {
  const { tools, agents } = lab.services;
  tools.set("punctual", async (_args, { deadline, fail }) => {
    await delay(Math.max(0, deadline - Date.now() - 150));
    throw fail.tool_timeout("it took too long", { timeoutMs: 1 });
  });
  const steps = [{ calls: [{ tool: labTool("punctual"), with: {} }] }];
  agents.set("punctual", agent("punctual", { plan: { steps, answer: "as if nothing had been" } }));
  const runs = ["punctual-1", "punctual-2", "punctual-3"];
  for (const runId of runs)
    await lab.command("punctual", { runId, input: "x", limits: { timeoutMs: 1_000 } });
  for (const runId of runs) {
    const events = await lab.eventsUntil(runId, ({ name }) =>
      ["finished", "failed"].includes(name),
    );
    assert.match(JSON.stringify(events.at(-1)?.payload["failure"]), /limit_exceeded.*timeoutMs/);
  }
});

test("fails a run whose plan refers to a missing result, naming the step and the pointer", async () => {
  lab.services.agents.set("broken", answering("broken", "{{/results/missing/text}}"));
  await lab.command("broken", { runId: "broken", input: "x" });
  const events = await lab.eventsUntil("broken", "failed");
  const failure = JSON.stringify(events.at(-1)?.payload["failure"]);
  assert.match(failure, /plan_error.*plan answer: pointer \/results\/missing\/text/);
});

test("activates the command's skill first and lets it narrow the tools", async () => {
  const { skills, agents, grants } = lab.services;
  skills.set("narrow", skill("narrow", { allowedTools: ["mcp__lab__echo"], text: "Narrow." }));
  agents.set("wide", answering("wide", "{{/input}}", { tools: ["mcp__lab__*"] }));
  await lab.command("wide", { runId: "narrowed", input: "the question", skill: "narrow" });
  const events = await lab.eventsUntil("narrowed", "finished");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["started", "skill-activated", "model-responded", "finished"],
  );
  const grant = grants.find(({ runId }) => runId === "cli~narrowed");
  assert.deepEqual(grant?.tools, [["mcp__lab__*"], ["mcp__lab__echo"]]);
});

test("removes from a run the tools that the skills in its prompt leave out, also for a preloaded one [D51]", async () => {
  const { skills, agents, grants } = lab.services;
  skills.set("careful", skill("careful", { disallowedTools: ["execute_command"] }));
  skills.set("quiet", skill("quiet", { disallowedTools: ["web_fetch"], allowedTools: ["mcp__*"] }));
  agents.set("handy", answering("handy", "{{/input}}", { skills: ["careful"] }));
  await lab.command("handy", { runId: "taken-away", input: "x", skill: "quiet" });
  await lab.eventsUntil("taken-away", "finished");
  const grant = grants.find(({ runId }) => runId === "cli~taken-away");
  assert.deepEqual(grant?.tools, [["mcp__*"], ["*", "!execute_command", "!web_fetch"]]);
});

test("runs a real model's loop: a refusal is waited out, a tool result is returned, deltas are live", async () => {
  lab.services.tools.set("echo", ({ text }) => `echo ${String(text)}`);
  lab.services.agents.set("thinker", agent("thinker", { model: null, tools: ["mcp__lab__echo"] }));
  chat.answer(
    { status: 429, headers: { "retry-after": "0" }, error: "slow down" },
    { chunks: toolCallChunks({ id: "call_1", name: labTool("echo"), args: '{"text":"hi"}' }) },
    { chunks: [chunk({ delta: { content: "half" } })], end: "cut" },
    { chunks: textChunks("All ", "done.") },
  );
  const before = chat.requests.length;
  const deltas: string[] = [];
  const live = subscribeLive(lab.bus, runLive, { owner: "cli", runId: "thinking" }, ({ delta }) =>
    deltas.push(delta),
  );
  await lab.command("thinker", { runId: "thinking", input: "say hi" });
  const events = await lab.eventsUntil("thinking", "finished");
  live.stop();

  assert.equal(events.at(-1)?.payload["output"], "All done.");
  assert.equal(events.at(-1)?.payload["model"], "local/m");
  const usage = Usage.parse(events.at(-1)?.payload["usage"]);
  // "half" counts for one token, and its request for the estimate beside it.
  const { estimatedTokens = 0 } = usage;
  assert.ok(estimatedTokens > 1);
  assert.deepEqual(usage, {
    inputTokens: 31 + estimatedTokens - 1,
    outputTokens: 11 + 1,
    estimatedTokens,
  });
  assert.equal(events.filter(({ name }) => name === "model-responded").length, 2);
  assert.ok(deltas.join("").endsWith("All done."), deltas.join(""));
  const requests = chat.requests.slice(before);
  assert.equal(requests.length, 4);
  const messages = requests.at(-1)?.["messages"];
  assert.ok(Array.isArray(messages));
  assert.deepEqual(
    messages.slice(1).map(({ role }: { role: string }) => role),
    ["user", "assistant", "tool"],
  );
  assert.deepEqual(messages.at(-1), {
    role: "tool",
    tool_call_id: "c00001000", // the runner's own id in place of the provider's
    content: '<tool_output tool="mcp__lab__echo">\necho hi\n</tool_output>',
  });
});

test("live text has no secrets, also one that comes in pieces, and is otherwise complete", async () => {
  lab.services.agents.set("talker", agent("talker", { model: null, tools: [] }));
  const key = ["sk", "proj", "q7Rw2Lx9Tb4Zk8Vm".repeat(3)].join("-");
  const text = `The key ${key} is the one that you want`;
  chat.answer({ chunks: textChunks(...(text.match(/.{1,7}/g) ?? [])) });
  const deltas: string[] = [];
  const live = subscribeLive(lab.bus, runLive, { owner: "cli", runId: "talking" }, ({ delta }) =>
    deltas.push(delta),
  );
  await lab.command("talker", { runId: "talking", input: "x" });
  const events = await lab.eventsUntil("talking", "finished");
  live.stop();
  const shown = "The key [redacted] is the one that you want";
  assert.equal(deltas.join(""), shown);
  assert.equal(events.at(-1)?.payload["output"], shown);
  const { run } = await call(lab.bus, getRun, { runId: "talking" });
  assert.equal(run.output, text, "the journal has what the run needs");
});

test("fails a run whose provider refuses it, and passes on the provider's message", async () => {
  lab.services.agents.set("thinker", agent("thinker", { model: null, tools: [] }));
  chat.answer({ status: 401, error: "no such key" });
  await lab.command("thinker", { runId: "refused", input: "x" });
  const events = await lab.eventsUntil("refused", "failed");
  assert.match(
    JSON.stringify(events.at(-1)?.payload["failure"]),
    /model_error.*HTTP 401.*no such key/,
  );
});
