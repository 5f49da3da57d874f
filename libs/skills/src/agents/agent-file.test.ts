import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { builtinNamed } from "@switchyard/contracts/toolbox/toolbox";
import { AgentDefinition, NO_AGENT_LIMITS } from "@switchyard/contracts/skill-importer/agents";
import fc from "fast-check";
import { agentFactsOf, type AgentFileFacts } from "./agent-facts.ts";
import { parseAgentFile } from "./agent-file.ts";
import { builtInAgents } from "../catalogue/built-in-agents.ts";

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

test("an agent of a runtime has the runtime's model, or leaves the model to it", () => {
  assert.equal(load("runtime: codex").model, "codex/default");
  assert.equal(
    load("runtime: opencode\nmodel: anthropic/claude").model,
    "opencode/anthropic/claude",
  );
  assert.deepEqual(findingsOf("name: a\nruntime: /bin/sh -c id"), [
    {
      code: "invalid_field",
      message: "runtime: must be 1-32 characters of a-z 0-9 -",
      line: 2,
      column: 10,
    },
  ]);
});

test("reads all fields of a YAML file [D13, D14, D61]", () => {
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
    "thinking: high",
    "context_window: 200000",
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
    thinking: "high",
    plan: { steps: [], answer: "done" },
    roles: [],
    limits: NO_AGENT_LIMITS,
    onUnknownOutcome: "fail",
    approval: null,
    contextWindow: 200_000,
    memoryBytes: null,
    sharesMemory: false,
  });
});

test("reads roles, limits, the window and the reaction to an unknown outcome", () => {
  const agent = load(
    [
      "roles: [reviewer]",
      "contextWindow: 200000",
      "memory_bytes: 4096",
      "shared_memory: true",
      "on-unknown-outcome: retry",
      "max_tool_iterations: 9",
      "limits: { steps: 5, toolCalls: 0, tokens: 50000, wall_time: 10m }",
    ].join("\n"),
  );
  assert.deepEqual(agent.roles, ["reviewer"]);
  assert.equal(agent.contextWindow, 200_000);
  assert.equal(agent.memoryBytes, 4_096);
  assert.equal(agent.sharesMemory, true);
  assert.equal(agent.onUnknownOutcome, "retry");
  assert.equal(agent.maxSteps, 5);
  assert.deepEqual(agent.limits, {
    maxToolCalls: 0,
    maxTokens: 50_000,
    maxCostUsd: null,
    timeoutMs: 600_000,
    maxDepth: null,
  });
});

test("keeps the limits of the agent, and warns that an unknown key is ignored", () => {
  const text =
    "limits: { cost_usd: 0.5, depth: 2 }\napproval: always\non_unknown_outcome: ask\ncolour: red";
  const parsed = parseAgentFile(Buffer.from(text), YAML);
  assert(parsed.kind === "agent");
  assert.deepEqual([parsed.agent.limits.maxCostUsd, parsed.agent.approval], [0.5, "always"]);
  assert.deepEqual(
    parsed.findings.map(({ severity, code, message }) => [severity, code, message.split(" ")[0]]),
    [["warning", "unknown_key", "unknown"]],
  );
});

for (const [text, message, line] of [
  ["limits:\n  steps: 0", "limits.steps: must be a whole number from 1 to 1000", 2],
  ["limits:\n  toolCalls: 1.5", "limits.tool_calls: must be a whole number from 0 to 10000", 2],
  ["limits:\n  tokens: -1", "limits.tokens: must be a whole number from 1 to 1000000000", 2],
  ["limits:\n  cost_usd: 0", "limits.cost_usd: must be more than 0", 2],
  [
    "limits:\n  wall_time: 90",
    "limits.wall_time: must be a time with its unit, such as 90s, 10m or 2h",
    2,
  ],
  ["limits:\n  wall_time: 25h", "limits.wall_time: must be from 1s to 24h", 2],
  ["limits:\n  depth: 17", "limits.depth: must be a whole number from 0 to 16", 2],
  ["temperature: 2.1", "temperature: must be a number from 0 to 2", 1],
  [
    "thinking: loud",
    "thinking: must be one of off, none, minimal, low, medium, high, xhigh, max",
    1,
  ],
  ["context_window: 12", "context_window: must be a whole number from 1024 to 100000000", 1],
  ["memory_bytes: 99999", "memory_bytes: must be a whole number from 256 to 32768", 1],
  ["approval: maybe", "approval: must be one of auto, session, always", 1],
  ["on_unknown_outcome: guess", "on_unknown_outcome: must be one of retry, fail, ask", 1],
  ["roles: [Admin!]", "roles.0: must be 1-64 characters of A-Z a-z 0-9 _ -", 1],
] as const) {
  test(`refuses \`${text.replace("\n ", "")}\` at its line, with the range [DR13]`, () => {
    const [finding] = findingsOf(text);
    assert.deepEqual([finding?.message, finding?.line], [message, line]);
  });
}

test("takes the body of a Markdown file as the system prompt [D13, X29, D61, DR5]", () => {
  const agent = load("---\ntemperature: 1\n---\n\nYou write code.\n\nMore.\n", MARKDOWN);
  assert.equal(agent.name, "coder-2");
  assert.equal(agent.systemPrompt, "You write code.\n\nMore.");
  assert.equal(agent.description, "You write code.");
});

test("skips an empty file: it may still be being written, and would be an agent with every tool", () => {
  for (const text of ["", "\n", "# later\n", "null\n", "{}\n"])
    assert.equal(findingsOf(text)[0]?.code, "empty_agent");
  for (const text of ["---\n---\n", "---\n# later\n---\n \n"])
    assert.equal(findingsOf(text, MARKDOWN)[0]?.code, "empty_agent");
});

test("skips a file with a second document, whose restrictions would not be read", () => {
  const [finding] = findingsOf("name: a\n---\ntools: none\n");
  assert.deepEqual([finding?.code, finding?.line], ["invalid_yaml", 2]);
  assert.match(finding?.message ?? "", /a second document begins here/);
  assert.equal(load("---\nname: a\n").name, "a");
  assert.equal(load("---\nname: a\n---\n\n").name, "a");
  assert.equal(load("%YAML 1.2\n---\nname: a\n...\n").name, "a");
});

test("gives the defaults to a file that sets only a name", () => {
  const agent = load("name: researcher");
  assert.equal(agent.name, "researcher");
  assert.equal(agent.model, null);
  assert.equal(agent.tools, null);
  assert.equal(agent.maxSteps, 20);
  assert.deepEqual([agent.temperature, agent.thinking], [null, null]);
});

test("yard help agents states the meaning of [] and none in an agent's file [X25]", async () => {
  const help = await readFile(
    new URL("../../../../apps/cli/src/help/agents.txt", import.meta.url),
    "utf8",
  );
  assert.match(help, /tools: .*# left out or \[\]: all .*; none: no tool$/m);
  assert.deepEqual(
    ["description: x", "tools: []", "tools: none"].map((written) => load(written).tools),
    [null, null, []],
  );
});

for (const [written, tools] of [
  ["tools: []", null],
  ["tools:", null],
  ["tools: none", []],
  ["tools: [a]", ["a"]],
  ["tools: Read, Grep", ["read_file", "search_files"]],
  ["tools: mcp__files__read_*", ["mcp__files__read_*"]],
  ["tools: 'Read,, Bash(git add:*, git push:*), Bash(*),'", ["read_file", "execute_command"]],
  ["tools: Bash(git:*)", ["execute_command(git:*)"]],
  ["tools: Bash(git | sh)", []],
  ["tools: ['*', '!mcp__files__*']", ["*", "!mcp__files__*"]],
  ["tools: ['!mcp__files__*']", ["*", "!mcp__files__*"]],
  ["disallowed_tools: [mcp__files__*, Bash]", ["*", "!mcp__files__*", "!execute_command"]],
  ["disallowedTools: Bash", ["*", "!execute_command"]],
  [
    "tools: [read_file, mcp__files__*]\ndisallowed-tools: mcp__files__write_file",
    ["read_file", "mcp__files__*", "!mcp__files__write_file"],
  ],
  ["tools: none\ndisallowed_tools: [read_file]", []],
  ["disallowed_tools: []", null],
] as const) {
  test(`reads \`${written}\` as ${JSON.stringify(tools)} [D17, X25, A25]`, () => {
    assert.deepEqual(load(written).tools, tools);
  });
}

test("reports what happened to a tool with a limit on its arguments", () => {
  const text = "name: a\nTools: 'Read, Bash(git:*), WebFetch(domain:x.org), Bash(a | b)'";
  const parsed = parseAgentFile(Buffer.from(text), YAML);
  assert(parsed.kind === "agent");
  assert.deepEqual(parsed.agent.tools, ["read_file", "execute_command(git:*)"]);
  assert.deepEqual(
    parsed.findings.map(({ severity, code, line }) => [severity, code, line]),
    [
      ["warning", "limited_tool", 2],
      ["warning", "limited_tool", 2],
    ],
  );
  assert.match(
    parsed.findings[0]?.message ?? "",
    /^tools: WebFetch\(domain:x\.org\) is left out: /,
  );
});

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
    "tools: ','",
    "colour: red",
    "---",
    "x",
  ].join("\n");
  assert.deepEqual(findingsOf(text, MARKDOWN), [
    { code: "invalid_field", message: "model: must look like provider/model", line: 2, column: 8 },
    {
      code: "unknown_key",
      message: 'unknown key "temprature" is ignored: did you mean temperature?',
      line: 3,
      column: 13,
    },
    {
      code: "invalid_field",
      message: "max_tool_iterations: must be a whole number from 1 to 1000",
      line: 4,
      column: 22,
    },
    {
      code: "invalid_field",
      message:
        "tools: must be a list of tool patterns, or text with commas between them, or none; left out it means every tool",
      line: 5,
      column: 8,
    },
    {
      code: "unknown_key",
      message:
        'unknown key "colour" is ignored: the keys are name, description, model, runtime, system_prompt, tools, disallowed_tools, skills, max_tool_iterations, temperature, thinking, context_window, memory_bytes, shared_memory, roles, limits, on_unknown_outcome, approval, plan',
      line: 6,
      column: 9,
    },
  ]);
});

test("takes a key in any style, but not twice", () => {
  assert.equal(load("systemPrompt: x").systemPrompt, "x");
  assert.equal(load("max-tool-iterations: 3").maxSteps, 3);
  const [finding] = findingsOf("max-tool-iterations: 3\nmaxToolIterations: 4");
  assert.deepEqual([finding?.code, finding?.line], ["duplicate_key", 2]);
});

for (const text of [
  "tool: [read_file]",
  "blockedTools: [write_file]",
  "permissionMode: plan",
  "limit: { steps: 3 }",
  "limits: { minutes: 3 }",
  "max_turns: 4",
]) {
  test(`skips a file with \`${text}\`: it may have been meant as a restriction`, () => {
    assert.equal(findingsOf(text)[0]?.code, "unknown_key");
  });
}

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

test("skips a file whose file name is not valid for an agent [D49]", () => {
  assert.equal(
    findingsOf("model: a/b", { ...YAML, fallbackName: "my agent" })[0]?.code,
    "no_usable_name",
  );
});

test("skips a file with two prompts", () => {
  const [finding] = findingsOf("---\nsystem_prompt: a\n---\nb", MARKDOWN);
  assert.deepEqual([finding?.code, finding?.line], ["two_prompts", 2]);
});

test("has the built-in agents default, explore, coder and planner [D16, D61]", () => {
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
  const [general, explore, coder, planner] = parsed;
  assert.deepEqual([general?.model, general?.temperature, general?.skills], [null, null, []]);
  const builtIn = (tools: readonly string[] | null | undefined) =>
    tools?.filter((name) => !name.startsWith("mcp__"));
  assert.deepEqual(builtIn(explore?.tools), ["read_file", "list_directory", "web_fetch"]);
  const files = ["read_file", "write_file", "edit_file", "list_directory"];
  assert.deepEqual(builtIn(coder?.tools), [...files, "execute_command"]);
  assert.ok((planner?.temperature ?? 0) > 0.8);
  const bare = parsed.flatMap(({ tools }) => tools ?? []).filter((tool) => !tool.includes("__"));
  assert.deepEqual(
    bare.filter((tool) => builtinNamed(tool) === null),
    [],
    "each tool that they name exists",
  );
});

test("gives the built-in planner no tools rather than all [X25]", () => {
  assert.deepEqual(builtInAgents.find(({ name }) => name === "planner")?.tools, []);
});

test("never throws, and returns a reason for every skipped file and a valid agent for every other", () => {
  const keys = [
    "name",
    "tools",
    "limits",
    "temperature",
    "model",
    "plan",
    "approval",
    "roles",
    "x",
  ];
  const line = fc
    .tuple(fc.constantFrom(...keys), fc.oneof(fc.string(), fc.json(), fc.constantFrom("none", "")))
    .map(([key, value]) => `${key}: ${value}`);
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n")),
  );
  fc.assert(
    fc.property(text, fc.boolean(), (written, isYaml) => {
      const body = isYaml ? written : `---\n${written}\n---\nYou help.`;
      const parsed = parseAgentFile(Buffer.from(body), isYaml ? YAML : MARKDOWN);
      if (parsed.kind === "agent") AgentDefinition.parse(parsed.agent);
      if (parsed.kind === "skipped") {
        assert(parsed.findings.some(({ severity }) => severity === "error"));
      }
    }),
  );
});

test("has no finding about the agents of the examples", async () => {
  const directory = new URL("../../../../examples/agents/", import.meta.url);
  const files = (await readdir(directory)).filter((file) => /\.(?:ya?ml|md)$/.test(file));
  assert(files.length > 0);
  for (const file of files) {
    const parsed = parseAgentFile(
      await readFile(new URL(file, directory)),
      agentFactsOf(file, "agents"),
    );
    assert(parsed.kind === "agent", file);
    assert.deepEqual(parsed.findings, [], file);
  }
});

test("skips an agent's file without a known field, since the agent would have every tool", () => {
  const text = "<!-- licence -->\n---\nname: a\ntools: [read_file]\n---\nDo it.\n";
  const facts = { format: "markdown", fallbackName: "a", isCertain: true } as const;
  const parsed = parseAgentFile(Buffer.from(text), facts);
  assert.equal(parsed.kind, "skipped");
  const [finding] = parsed.findings;
  assert.equal(finding?.code, "frontmatter_not_recognised");
  assert.equal(finding.severity, "error");
});
