import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { AgentDefinition } from "@switchyard/contracts/agents";
import { parseAgentFile, type AgentFileFacts } from "./agent-file.ts";
import { builtInAgents } from "./built-in-agents.ts";

const YAML: AgentFileFacts = { format: "yaml", fallbackName: "researcher", isCertain: true };
const MARKDOWN: AgentFileFacts = { format: "markdown", fallbackName: "coder-2", isCertain: false };

function load(text: string, facts = YAML): AgentDefinition {
  const parsed = parseAgentFile(Buffer.from(text), facts);
  assert(parsed.kind === "agent", JSON.stringify(parsed));
  return AgentDefinition.parse(parsed.agent);
}

function findingsOf(text: string, facts = YAML) {
  const parsed = parseAgentFile(Buffer.from(text), facts);
  assert(parsed.kind === "skipped", JSON.stringify(parsed));
  return parsed.findings.map(({ code, message, line, column }) => ({
    code,
    message,
    line,
    column,
  }));
}

test("reads all fields of a YAML file [D13, D14]", () => {
  const text = [
    "name: my_Agent",
    "description: Looks things up",
    "model: anthropic/claude-sonnet",
    "system_prompt: |",
    "  You look",
    "  things up.",
    "tools: [read_file, mcp__github__*]",
    "skills: [summarise-files]",
    "max_tool_iterations: 7",
    "temperature: 0.5",
    "plan: { answer: done }",
  ].join("\n");
  assert.deepEqual(load(text), {
    name: "my_Agent",
    description: "Looks things up",
    source: "project",
    digest: `sha256:${createHash("sha256").update(text).digest("hex")}`,
    model: "anthropic/claude-sonnet",
    systemPrompt: "You look\nthings up.",
    tools: ["read_file", "mcp__github__*"],
    skills: ["summarise-files"],
    maxSteps: 7,
    temperature: 0.5,
    plan: { steps: [], answer: "done" },
  });
});

test("takes the body of a Markdown file as the system prompt [D13, X29]", () => {
  const agent = load("---\ntemperature: 1\n---\n\nYou write code.\n\nMore.\n", MARKDOWN);
  assert.equal(agent.name, "coder-2");
  assert.equal(agent.systemPrompt, "You write code.\n\nMore.");
  assert.equal(agent.description, "You write code.");
});

test("gives an empty file the defaults", () => {
  const agent = load("");
  assert.equal(agent.name, "researcher");
  assert.equal(agent.model, null);
  assert.equal(agent.tools, null);
  assert.equal(agent.maxSteps, 20);
  assert.equal(agent.temperature, null);
});

for (const [written, tools] of [
  ["tools: []", null],
  ["tools:", null],
  ["tools: none", []],
  ["tools: [a]", ["a"]],
] as const) {
  test(`reads \`${written}\` as ${JSON.stringify(tools)} [D17, X25]`, () => {
    assert.deepEqual(load(written).tools, tools);
  });
}

test("leaves a Markdown file without frontmatter alone, unless it is called AGENT.md", () => {
  const text = "# Agents\n\nNotes on the agents here.";
  assert.equal(parseAgentFile(Buffer.from(text), MARKDOWN).kind, "not-an-agent");
  const agent = load(text, { ...MARKDOWN, isCertain: true });
  assert.equal(agent.systemPrompt, text);
});

test("points at every mistake of a file at once [D57]", () => {
  const text = [
    "---",
    "model: gpt",
    "temprature: 3",
    "max_tool_iterations: lots",
    "tools: some",
    "colour: red",
    "---",
    "x",
  ].join("\n");
  assert.deepEqual(findingsOf(text, MARKDOWN), [
    { code: "invalid_field", message: "model: must look like provider/model", line: 2, column: 8 },
    {
      code: "invalid_field",
      message: "tools: must be a list of tool patterns, or none; left out it means every tool",
      line: 5,
      column: 8,
    },
    {
      code: "invalid_field",
      message: "max_tool_iterations: Invalid input: expected number, received string",
      line: 4,
      column: 22,
    },
    {
      code: "unknown_key",
      message: 'unknown key "temprature": did you mean temperature?',
      line: 3,
      column: 13,
    },
    {
      code: "unknown_key",
      message:
        'unknown key "colour": the keys are name, description, model, system_prompt, tools, skills, max_tool_iterations, temperature, plan',
      line: 6,
      column: 9,
    },
  ]);
});

test("knows a key that is written in another style", () => {
  assert.match(findingsOf("systemPrompt: x")[0]?.message ?? "", /did you mean system_prompt\?/);
  assert.match(
    findingsOf("max-tool-iterations: 3")[0]?.message ?? "",
    /did you mean max_tool_iterations\?/,
  );
});

for (const [name, text, code] of [
  ["broken YAML", "name: [", "invalid_yaml"],
  ["an alias", "description: &d x\nsystem_prompt: *d", "yaml_anchor"],
  ["a tag", "description: !!str x", "yaml_tag"],
  ["a bad plan", "plan: { steps: 3, answer: x }", "invalid_plan"],
  ["an empty plan", "plan:", "invalid_plan"],
  ["a name that is a path", "name: ../x", "invalid_field"],
  ["a temperature out of range", "temperature: 2.1", "invalid_field"],
  ["more than 64 KiB of YAML", `system_prompt: ${"x".repeat(65_536)}`, "file_too_large"],
] as const) {
  test(`skips a file with ${name}`, () => {
    assert.equal(findingsOf(text)[0]?.code, code);
  });
}

test("skips a file whose own name cannot be the agent's [D49]", () => {
  assert.equal(findingsOf("", { ...YAML, fallbackName: "my agent" })[0]?.code, "no_usable_name");
});

test("skips a file with two prompts", () => {
  const [finding] = findingsOf("---\nsystem_prompt: a\n---\nb", MARKDOWN);
  assert.deepEqual([finding?.code, finding?.line], ["two_prompts", 2]);
});

test("has the built-in agents default, explore, coder and planner [D16]", () => {
  const parsed = builtInAgents.map((agent) => AgentDefinition.parse(agent));
  assert.deepEqual(
    parsed.map(({ name, source, tools }) => [
      name,
      source,
      tools === null ? "all" : tools.length > 0,
    ]),
    [
      ["default", "built-in", "all"],
      ["explore", "built-in", true],
      ["coder", "built-in", true],
      ["planner", "built-in", false],
    ],
  );
  assert.equal(new Set(parsed.map(({ digest }) => digest)).size, 4);
});

test("gives the built-in planner no tools rather than all [X25]", () => {
  assert.deepEqual(builtInAgents.find(({ name }) => name === "planner")?.tools, []);
});
