import assert from "node:assert/strict";
import { test } from "node:test";
import type { Principal, ServerFacts } from "@switchyard/contracts/policy/policy";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { decide, mayEverAllow } from "./evaluate.ts";
import { isKeepable } from "./keepable.ts";
import { lint } from "./lint.ts";
import { whoCan } from "./who-can.ts";

const bundleOf = (text: string) => parseBundle({ file: "p.yaml", text: `version: 1\n${text}` });
const AGENT: Principal = { user: "cli", agent: "demo", runId: "run-1" };

function ask(
  text: string,
  asked: { principal?: Principal; tool?: string; server?: ServerFacts; args?: object } = {},
) {
  const { principal = AGENT, tool = "x.read", server, args = {} } = asked;
  const [id = "", name] = tool.split(".");
  const ref = name === undefined ? builtinToolRef(id) : mcpToolRef(id, name);
  const call = { principal, tool: ref, args: { ...args }, layers: null, server };
  return decide(compileBundle(bundleOf(text)), call);
}

test("of the matching allow rules the strictest approval counts, and a deny rule beats all", () => {
  const rules = `rules:
  - { id: a-auto, effect: allow, approval: auto }
  - { id: b-session, effect: allow, approval: session, ttl: 10m, what: { tools: [x.*] } }
  - { id: c-session, effect: allow, approval: session, ttl: 5m, what: { tools: [x.*] } }
  - { id: d-always, effect: allow, approval: always, what: { tools: [x.write] } }
  - { id: e-deny, effect: deny, what: { tools: [x.drop] } }
`;
  const answers = ["y.read", "x.read", "x.write", "x.drop"].map((tool) => {
    const { effect, tier, rule, ttlMs } = ask(rules, { tool });
    return [effect, tier, rule, ttlMs];
  });
  assert.deepEqual(answers, [
    ["allow", "auto", "a-auto", undefined],
    ["ask", "session", "b-session", 300_000],
    ["ask", "always", "d-always", undefined],
    ["deny", undefined, "e-deny", undefined],
  ]);
});

test("without an approval setting a shell asks always, writes and MCP tools ask once a session, reads do not ask [E8, X14]", () => {
  const rules = "rules: [{ id: all, effect: allow }]\n";
  const tierOf = (tool: string, text = rules) => ask(text, { tool }).tier;
  assert.equal(tierOf("execute_command"), "always");
  assert.equal(tierOf("write_file"), "session");
  assert.equal(tierOf("web_fetch"), "session");
  assert.equal(tierOf("read_file"), "auto");
  assert.equal(tierOf("agent"), "auto");
  assert.equal(tierOf("x.write_file"), "session");
  assert.equal(tierOf("x.read_file"), "session", "a server's name for its tool does not count");
  assert.equal(tierOf("message_send"), "session", "it is not known to only read");

  assert.equal(tierOf("exec"), "always");
  assert.equal(tierOf("x.read", `defaults: { approval: auto }\n${rules}`), "auto");
  assert.equal(tierOf("read_file", `defaults: { approval: always }\n${rules}`), "always");
  const own = "rules: [{ id: all, effect: allow, approval: auto }]\n";
  assert.equal(tierOf("execute_command", own), "auto");
});

test("one setting allows every MCP tool without a person's approval [A15]", () => {
  const rules = "defaults: { approval: auto }\nrules: [{ id: all, effect: allow }]\n";
  for (const tool of ["x.read", "x.delete_everything", "y.write_file"])
    assert.deepEqual([ask(rules, { tool }).effect, ask(rules, { tool }).tier], ["allow", "auto"]);
});

test("the tiers auto, session and always are three answers, and a rule's tier for one tool does not apply to another [E13][E14]", () => {
  const rules = `defaults: { approval: session }
rules:
  - { id: all, effect: allow }
  - { id: deletes, effect: allow, approval: always, what: { tools: [x.delete] } }
`;
  const answerOf = (tool: string) => {
    const { effect, tier } = ask(rules, { tool });
    return [effect, tier];
  };
  assert.deepEqual(answerOf("x.read"), ["ask", "session"]);
  assert.deepEqual(answerOf("x.delete"), ["ask", "always"]);
  assert.deepEqual(answerOf("read_file"), ["ask", "session"]);
  const free = "rules: [{ id: all, effect: allow, approval: auto }]\n";
  assert.equal(ask(free, { tool: "x.delete" }).effect, "allow");
});

test("no tool's own default overrides what the bundle sets for it [ER3][ER10]", () => {
  for (const tool of ["execute_command", "write_file", "edit_file", "memory_write", "read_file"])
    for (const approval of ["auto", "session", "always"] as const) {
      const byRule = `rules: [{ id: own, effect: allow, approval: ${approval}, what: { tools: [${tool}] } }]\n`;
      assert.equal(ask(byRule, { tool }).tier, approval, `${tool} by its rule`);
      const byDefault = `defaults: { approval: ${approval} }\nrules: [{ id: all, effect: allow }]\n`;
      assert.equal(ask(byDefault, { tool }).tier, approval, `${tool} by the defaults`);
    }
  const silent = "rules: [{ id: all, effect: allow }]\n";
  assert.equal(ask(silent, { tool: "search_files" }).tier, "auto");
  assert.equal(ask(silent, { tool: "edit_file" }).tier, "session");
});

test("a tool that needs approval counts as allowable, and its decision is never cached", () => {
  const bundle = compileBundle(bundleOf("rules: [{ id: a, effect: allow, approval: session }]\n"));
  const call = { principal: AGENT, tool: mcpToolRef("x", "read"), args: {}, layers: null };
  assert.equal(mayEverAllow(bundle, call), true);
  assert.equal(isKeepable(bundle, call, decide(bundle, call)), false);
});

test("rules select by role, channel, group, server and label", () => {
  const rules = `defaults: { approval: auto }
rules:
  - id: ops
    effect: allow
    who: { roles: [ops*], channels: ["slack:*"], groups: [core] }
    what: { servers: [x], tools: ["re*"], labels: { any: [safe], not: [egress] } }
`;
  const principal: Principal = {
    ...AGENT,
    roles: ["ops-eu"],
    context: { channel: "slack:a", group: "core" },
  };
  const safe = { labels: ["safe"] };
  assert.equal(ask(rules, { principal, server: safe }).effect, "allow");
  assert.equal(ask(rules, { principal, server: { labels: ["safe", "egress"] } }).effect, "deny");
  assert.equal(ask(rules, { principal }).effect, "deny");
  assert.equal(ask(rules, { principal, server: safe, tool: "y.read" }).effect, "deny");
  assert.equal(
    ask(rules, { principal: { ...principal, roles: ["dev"] }, server: safe }).rule,
    null,
  );
  assert.equal(ask(rules, { server: safe }).effect, "deny", "no role, no channel, no group");
});

test("the settings of a server's administrator narrow what rules allow [A7] [CR1] [X16]", () => {
  const rules = "defaults: { approval: auto }\nrules: [{ id: all, effect: allow }]\n";
  const planner = { ...AGENT, roles: ["planner"] };
  const server = { roles: ["planner"], enabledTools: ["re*"] };
  assert.match(ask(rules, { server }).reason, /kept for agents with one of the roles planner/);
  assert.equal(ask(rules, { server, principal: planner }).effect, "allow");
  assert.match(
    ask(rules, { server, principal: planner, tool: "x.write" }).reason,
    /has only the tools re\* \(enabledTools of the server\)/,
  );
});

test("layers, profiles, owners and sub-agents only narrow [X16] [X42]", () => {
  const text = `profiles: { readers: [x.read, "group:fs"] }
owners: { users: [boss] }
layers:
  - { id: of-demo, for: { agents: [demo] }, profile: readers, deny: [write_file] }
  - { id: of-model, for: { providers: [ollama] }, allow: [x.*] }
rules: [{ id: all, effect: allow, approval: auto }]
`;
  const effects = (tool: string, principal: Principal) => ask(text, { tool, principal }).effect;
  assert.equal(effects("x.read", AGENT), "allow");
  assert.equal(effects("x.write", AGENT), "deny");
  assert.equal(effects("read_file", AGENT), "allow");
  assert.equal(effects("write_file", AGENT), "deny");
  const local = { ...AGENT, context: { model: "ollama/small" } };
  assert.match(ask(text, { tool: "read_file", principal: local }).reason, /layer of-model allows/);
  const other: Principal = { ...AGENT, agent: "other" };
  assert.equal(effects("cron_create", other), "deny", "for owners alone");
  assert.equal(effects("cron_create", { ...other, user: "boss" }), "allow");
  const spoken = { ...other, user: "boss", context: { channel: "slack" } };
  assert.equal(
    effects("cron_create", spoken),
    "deny",
    "a channel has no owner until it is declared",
  );
  const said = (principal: Principal, owner: boolean) =>
    effects("cron_create", { ...principal, context: { channel: "slack", owner } });
  assert.equal(said(other, true), "allow", "the origin counts, whichever user it is");
  assert.equal(said(spoken, false), "deny");
  const child = { ...other, context: { depth: 1 } };
  assert.equal(effects("sessions_spawn", child), "deny");
  assert.equal(effects("sessions_spawn", other), "allow");
});

test("lint finds rules that never decide, and allow lists that match no tool", () => {
  const findings = lint(
    bundleOf(`layers: [{ id: odd, allow: [raed_file] }]
rules:
  - { id: all, effect: allow, approval: always }
  - { id: some, effect: allow, approval: auto, what: { tools: [x.*] } }
`),
  );
  assert.deepEqual(
    findings.map(({ kind, rule }) => [kind, rule]),
    [
      ["shadowed", "some"],
      ["unknown-tools", "odd"],
    ],
  );
  const odd = "layers: [{ id: odd, allow: [raed_file] }]\nrules: [{ id: all, effect: allow }]\n";
  assert.equal(ask(odd, { tool: "read_file" }).effect, "deny", "it fails closed");
});

test("who-can lists the rules that reach a tool, their exceptions, and the rules that deny it to everyone", () => {
  const bundle = compileBundle(
    bundleOf(`rules:
  - { id: devs, effect: allow, who: { roles: [dev] }, what: { tools: [x.*] } }
  - { id: demo, effect: allow, who: { agents: [demo] } }
  - { id: no-demo, effect: deny, who: { agents: [demo*] }, what: { tools: [x.read] } }
  - { id: closed, effect: deny, what: { tools: [z.*] } }
`),
  );
  const { reach } = whoCan(bundle, mcpToolRef("x", "read"), undefined);
  assert.deepEqual(
    reach.map(({ rule, except }) => [rule, except]),
    [["devs", ["no-demo"]]],
  );
  assert.deepEqual(whoCan(bundle, mcpToolRef("z", "a"), undefined).deniedBy, ["closed"]);
});

test("hostIn compares the host of a URL, and a URL that clients parse differently gains the caller nothing", () => {
  const rule = (effect: string) =>
    `defaults: { approval: auto }\nrules:\n  - { id: ok, effect: allow, approval: auto, when: [{ arg: /n, op: absent }] }\n  - { id: h, effect: ${effect}, when: [{ arg: /url, op: hostIn, value: [a.example, "*.b.example"] }] }\n`;
  const effect = (url: unknown) => ask(rule("allow"), { args: { url, n: 1 } }).effect;
  assert.equal(effect("https://a.example/x?y"), "allow");
  assert.equal(effect("A.example:443"), "allow");
  assert.equal(effect("https://c.b.example"), "allow");
  for (const other of ["https://b.example", "https://a.example.evil", "file:///a.example", 1])
    assert.equal(effect(other), "deny", String(other));
  for (const odd of ["https://a.example@evil", "https://a.example\\@evil", " https://a.example"])
    assert.equal(effect(odd), "deny", odd);
  assert.equal(ask(rule("deny"), { args: { url: "https://evil@a.example" } }).rule, "h");
});
