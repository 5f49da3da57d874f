import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinToolRef, mcpToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { decide, mayEverAllow, type Call } from "./evaluate.ts";
import { isKeepable } from "./keepable.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { compileToolLayers } from "../layers/tool-layers.ts";

const READ = mcpToolRef("files", "read_file");
const WRITE = mcpToolRef("files", "write_file");
const person = (user: string) => ({ user, agent: null, runId: null });
const agent = (name: string, user = "cli") => ({ user, agent: name, runId: "run-1" });

function bundle(rules: string) {
  return compileBundle(
    parseBundle({
      file: "test.yaml",
      text: `version: 1\ndefaults: { approval: auto }\nrules:\n${rules}`,
    }),
  );
}

function call(tool: ToolRef, rest: Partial<Call> = {}): Call {
  return { principal: person("cli"), tool, args: {}, layers: null, ...rest };
}

/** The effect, the rule and the reason, without the digest. */
function decision(rules: string, asked: Call) {
  const { effect, rule, reason } = decide(bundle(rules), asked);
  return { effect, rule, reason };
}

test("a call that no rule matches is denied", () => {
  assert.deepEqual(
    decision("  - { id: other, effect: allow, what: { tools: [git.*] } }", call(READ)),
    {
      effect: "deny",
      rule: null,
      reason: "no rule allows mcp__files__read_file for user cli",
    },
  );
});

test("an allow rule allows, and the reason carries its note", () => {
  assert.deepEqual(
    decision(
      "  - { id: reads, effect: allow, what: { tools: [files.read_*] }, note: fine }",
      call(READ),
    ),
    { effect: "allow", rule: "reads", reason: "rule reads allows mcp__files__read_file: fine" },
  );
});

test("a deny rule beats every allow rule, wherever it is in the file", () => {
  const allow = "  - { id: a-all, effect: allow }\n";
  const deny =
    "  - { id: no-writes, effect: deny, what: { tools: [files.write_*] }, note: read only }\n";
  for (const rules of [allow + deny, deny + allow]) {
    assert.deepEqual(decision(rules, call(WRITE)), {
      effect: "deny",
      rule: "no-writes",
      reason: "rule no-writes denies mcp__files__write_file: read only",
    });
    assert.equal(decision(rules, call(READ)).effect, "allow");
  }
});

test("of several matching rules the one whose id sorts first is named, whatever index it is found by", () => {
  const rules = [
    "  - { id: d-any, effect: deny }",
    "  - { id: c-wild, effect: deny, what: { tools: ['mcp__*'] } }",
    "  - { id: b-server, effect: deny, what: { tools: [files.*] } }",
    "  - { id: a-exact, effect: deny, what: { tools: [files.read_file] } }",
  ];
  for (const order of [rules, rules.toReversed()]) {
    assert.equal(decision(order.join("\n"), call(READ)).rule, "a-exact");
    assert.equal(decision(order.join("\n"), call(WRITE)).rule, "b-server");
    assert.equal(decision(order.join("\n"), call(mcpToolRef("git", "log"))).rule, "c-wild");
    assert.equal(decision(order.join("\n"), call(builtinToolRef("skill"))).rule, "d-any");
  }
});

test("every spelling of a tool pattern means the same", () => {
  for (const pattern of [
    "mcp__files__read_file",
    "files__read_file",
    "files.read_file",
    "mcp_files_read_file",
    "mcp__files__*",
    "mcp__*",
    "mcp__f*__read_*",
  ]) {
    const rules = `  - { id: a, effect: allow, what: { tools: ["${pattern}"] } }`;
    assert.equal(decision(rules, call(READ)).effect, "allow", pattern);
    assert.equal(decision(rules, call(builtinToolRef("read_file"))).effect, "deny", pattern);
  }
});

test("a pattern without a server reaches no tool of a server", () => {
  for (const pattern of ["read_file", "read*"]) {
    const rules = `  - { id: a, effect: allow, what: { tools: ["${pattern}"] } }`;
    assert.equal(decision(rules, call(READ)).effect, "deny", pattern);
    assert.equal(decision(rules, call(builtinToolRef("read_file"))).effect, "allow", pattern);
  }
});

test("a tool whose name was shortened is matched by its own name and by the shown one", () => {
  const long = mcpToolRef("files", `read ${"very ".repeat(20)}long`);
  for (const pattern of [long.name, "files.read very*", "files.read_very*"]) {
    const rules = `  - { id: a, effect: deny, what: { tools: [${JSON.stringify(pattern)}] } }\n  - { id: b, effect: allow }`;
    assert.equal(decision(rules, call(long)).rule, "a", pattern);
  }
});

test("a tool name in another Unicode form does not get round a rule", () => {
  const rules =
    '  - { id: all, effect: allow }\n  - { id: no, effect: deny, what: { tools: ["files.supprim\\u00e9"] } }';
  assert.equal(decision(rules, call(mcpToolRef("files", "supprime\u0301"))).rule, "no");
});

test("a tool reference that contradicts itself is denied", () => {
  const everything = "  - { id: all, effect: allow }";
  const contradictions: ToolRef[] = [
    { ...READ, tool: "write_file" },
    { ...READ, server: "git" },
    { ...READ, server: null },
    { name: "mcp__files__read_file", server: null, tool: "mcp__files__read_file" },
    { name: "skill", server: null, tool: "other" },
  ];
  for (const tool of contradictions) {
    assert.match(decision(everything, call(tool)).reason, /contradicts its server and tool name$/);
    assert.equal(mayEverAllow(bundle(everything), call(tool)), false);
  }
});

test("users selects by the user, agents only runs of an agent", () => {
  const byUser = "  - { id: a, effect: allow, who: { users: [team-*] } }";
  assert.equal(decision(byUser, call(READ, { principal: person("team-a") })).effect, "allow");
  assert.equal(
    decision(byUser, call(READ, { principal: agent("demo", "team-a") })).effect,
    "allow",
  );
  assert.equal(decision(byUser, call(READ)).effect, "deny");

  const byAgent = '  - { id: a, effect: allow, who: { agents: ["*"] } }';
  assert.equal(decision(byAgent, call(READ, { principal: agent("demo") })).effect, "allow");
  assert.equal(decision(byAgent, call(READ)).effect, "deny");

  const byBoth = "  - { id: a, effect: allow, who: { agents: [demo], users: [cli] } }";
  assert.equal(decision(byBoth, call(READ, { principal: agent("demo") })).effect, "allow");
  assert.equal(decision(byBoth, call(READ, { principal: agent("Demo") })).effect, "deny");
  assert.equal(decision(byBoth, call(READ, { principal: agent("demo", "me") })).effect, "deny");
});

const CONDITION = "when: [{ arg: /amount, op: gte, value: 100 }]";
const conditional = `  - { id: all, effect: allow }\n  - { id: big, effect: deny, ${CONDITION}, note: too much }`;

test("a deny rule matches an argument that it cannot compare, and reports it", () => {
  assert.equal(decision(conditional, call(READ, { args: { amount: 100 } })).rule, "big");
  assert.equal(decision(conditional, call(READ, { args: { amount: 99 } })).rule, "all");
  assert.deepEqual(decision(conditional, call(READ, { args: { amount: "5" } })), {
    effect: "deny",
    rule: "big",
    reason:
      "rule big denies mcp__files__read_file: too much (/amount is not what the rule can compare with, which counts as a match)",
  });
});

test("a deny rule does not match a missing argument unless it is required", () => {
  assert.equal(decision(conditional, call(READ)).rule, "all");
  const required = conditional.replace("value: 100", "value: 100, required: true");
  assert.equal(decision(required, call(READ)).rule, "big");
});

test("an allow rule matches neither a missing argument nor one that it cannot compare", () => {
  const rules = `  - { id: a, effect: allow, ${CONDITION} }`;
  assert.equal(decision(rules, call(READ, { args: { amount: 100 } })).effect, "allow");
  for (const args of [{}, { amount: "100" }, { amount: null }, { amount: [100] }]) {
    assert.deepEqual(decision(rules, call(READ, { args })), {
      effect: "deny",
      rule: null,
      reason:
        "no rule allows mcp__files__read_file with these arguments for user cli; rule a allows it with others",
    });
  }
});

test("a denial of a replayed run names the rule that would apply with replayed: true", () => {
  const reads =
    "  - { id: reads, effect: allow, who: { agents: [helper] }, what: { tools: [files.*] } }";
  const principal = {
    user: "cli",
    agent: "helper",
    runId: "run-1",
    context: { replayed: true as const },
  };
  assert.match(
    decision(reads, call(READ, { principal })).reason,
    /for agent helper in a replayed run; rule reads applies to one only with replayed: true in its who$/,
  );
  const open = reads.replace("[helper]", "[helper], replayed: true");
  assert.equal(decision(open, call(READ, { principal })).effect, "allow");
  const other = { ...principal, agent: "other" };
  assert.match(decision(reads, call(READ, { principal: other })).reason, /for agent other$/);
});

test("of several allow rules that need other arguments the one whose id sorts first is named", () => {
  const rules = `  - { id: b, effect: allow, ${CONDITION} }\n  - { id: a, effect: allow, what: { tools: [files.*] }, ${CONDITION} }\n  - { id: c, effect: allow, what: { tools: [files.read_file] }, ${CONDITION} }`;
  assert.match(decision(rules, call(READ)).reason, /; rule a allows it with others$/);
});

test("all conditions of a rule must hold, so one that fails keeps a deny rule from matching", () => {
  const rules =
    "  - { id: all, effect: allow }\n  - { id: no, effect: deny, when: [{ arg: /a, op: eq, value: 1 }, { arg: /b, op: eq, value: 1 }] }";
  assert.equal(decision(rules, call(READ, { args: { a: 1, b: 1 } })).rule, "no");
  assert.equal(decision(rules, call(READ, { args: { a: 1, b: "1" } })).rule, "no");
  assert.equal(decision(rules, call(READ, { args: { a: 2, b: "1" } })).rule, "all");
  assert.equal(decision(rules, call(READ, { args: { a: "1", b: 2 } })).rule, "all");
});

test("a tool outside the run token is denied although a rule allows it [X16]", () => {
  const rules =
    "  - { id: all, effect: allow }\n  - { id: no-git, effect: deny, what: { tools: [git.*] } }";
  const layers = compileToolLayers([["mcp__*"], ["files.read_file"]]);
  const asked = (tool: ToolRef) => call(tool, { principal: agent("demo"), layers });
  assert.equal(decision(rules, asked(READ)).effect, "allow");
  assert.deepEqual(decision(rules, asked(WRITE)), {
    effect: "deny",
    rule: null,
    reason:
      "agent demo may not use mcp__files__write_file: its run token lets pass only files.read_file",
  });
  assert.equal(decision(rules, asked(mcpToolRef("git", "log"))).rule, "no-git");
});

test("a tool that a layer of the run token names with ! is denied although a rule allows it [D51]", () => {
  const rules = "  - { id: all, effect: allow }";
  const layers = compileToolLayers([["*", "!files.write_*"]]);
  const asked = (tool: ToolRef) =>
    decision(rules, call(tool, { principal: agent("demo"), layers })).effect;
  assert.equal(asked(READ), "allow");
  assert.equal(asked(WRITE), "deny");
});

test("a layer that names the first words of commands allows only those, whatever a rule allows [D51] [X26]", () => {
  const made = bundle("  - { id: all, effect: allow, approval: auto }");
  const tool = builtinToolRef("execute_command");
  const layers = compileToolLayers([["execute_command(git:*)", "execute_command(make)"], ["*"]]);
  const asked = (args: Record<string, unknown>) =>
    call(tool, { principal: agent("demo"), layers, args });
  for (const command of ["git", "git status", "make"]) {
    const allowed = decide(made, asked({ command }));
    assert.equal(allowed.effect, "allow", command);
    assert.equal(
      isKeepable(made, asked({ command }), allowed),
      false,
      "other arguments may not pass",
    );
  }
  for (const args of [
    { command: "rm -rf /" },
    { command: "gitx" },
    { command: "make all" },
    { command: "git status", shell: true },
    {},
  ])
    assert.equal(decide(made, asked(args)).effect, "deny", JSON.stringify(args));
  assert.match(
    decide(made, asked({ command: "ls" })).reason,
    /may not use execute_command: its run token lets pass only execute_command\(git:\*\), execute_command\(make\)$/,
  );
  const other = mcpToolRef("shell", "execute_command");
  assert.equal(decide(made, { ...asked({ command: "git" }), tool: other }).effect, "deny");
  assert.equal(mayEverAllow(made, asked({})), true, "the tool is listed");
  const excluded = compileToolLayers([["*", "!execute_command(git:*)"]]);
  assert.equal(decide(made, { ...asked({ command: "ls" }), layers: excluded }).effect, "deny");
});

test("without layers no tool is excluded, and an empty layer excludes every tool", () => {
  const rules = "  - { id: all, effect: allow }";
  const withLayers = (layers: string[][]) =>
    decision(rules, call(READ, { principal: agent("demo"), layers: compileToolLayers(layers) }));
  assert.equal(withLayers([]).effect, "allow");
  assert.match(withLayers([[]]).reason, /lets pass no tool$/);
  const many = Array.from({ length: 8 }, (_, index) => `git.tool_${index}`);
  assert.match(withLayers([many]).reason, /git\.tool_4, and 3 more$/);
});

test("a tool is listed when some arguments could be allowed", () => {
  const rules = `  - { id: small, effect: allow, what: { tools: [files.*] }, when: [{ arg: /amount, op: lte, value: 5 }] }
  - { id: big, effect: deny, what: { tools: [files.read_file] }, ${CONDITION} }
  - { id: no-writes, effect: deny, what: { tools: [files.write_*] } }`;
  const listed = (tool: ToolRef, rest: Partial<Call> = {}) =>
    mayEverAllow(bundle(rules), call(tool, rest));
  assert.equal(listed(READ), true);
  assert.equal(listed(WRITE), false);
  assert.equal(listed(mcpToolRef("git", "log")), false);
  assert.equal(listed(READ, { layers: compileToolLayers([["git.*"]]) }), false);
});

test("every decision names the bundle that made it", () => {
  const made = bundle("  - { id: all, effect: allow }");
  assert.equal(decide(made, call(READ)).policyDigest, made.digest);
  assert.notEqual(made.digest, bundle("  - { id: all, effect: deny }").digest);
});

test("layers and labels find a tool whatever the Unicode form of its name", () => {
  const layered = compileBundle(
    parseBundle({
      file: "policy.yaml",
      text: `version: 1
layers: [{ id: kept, for: { agents: [kept] }, deny: ["docs.l\u00f6schen"] }]
labels: [{ tools: ["docs.l\u00f6schen"], are: [dangerous] }]
rules:
  - { id: all, effect: allow, approval: auto }
  - { id: no-danger, effect: deny, who: { agents: [labelled] }, what: { labels: { any: [dangerous] } } }
`,
    }),
  );
  for (const form of ["NFC", "NFD"] as const) {
    const tool = mcpToolRef("docs", "l\u00f6schen".normalize(form));
    const effectFor = (name: string) =>
      decide(layered, { principal: agent(name), tool, args: {}, layers: null }).effect;
    assert.deepEqual(["kept", "labelled", "other"].map(effectFor), ["deny", "deny", "allow"], form);
  }
});
