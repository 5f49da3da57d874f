import assert from "node:assert/strict";
import { test } from "node:test";
import { AccessKind, type Decision } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { decideFeature, mayEverAllowFeature } from "./evaluate-feature.ts";
import { decide } from "./evaluate.ts";
import { lint } from "./lint.ts";
import { compileToolLayers } from "../layers/tool-layers.ts";

const KINDS = AccessKind.options.filter((kind) => kind !== "tool");

function bundleOf(rules: string) {
  return compileBundle(parseBundle({ file: "policy.yaml", text: `version: 1\nrules:\n${rules}` }));
}

function ask(
  rules: string,
  question: {
    kind: (typeof KINDS)[number];
    name?: string;
    server?: string;
    agent?: string;
    args?: Record<string, unknown>;
    tools?: readonly string[];
  },
): Decision {
  const { kind, name = kind, server = "docs", agent = null, args = {}, tools } = question;
  return decideFeature(bundleOf(rules), {
    kind,
    principal: { user: "team-a", agent, runId: agent === null ? null : "r1" },
    tool: mcpToolRef(server, name),
    args,
    layers: tools === undefined ? null : compileToolLayers([tools]),
  });
}

const READS = `  - id: reads
    effect: allow
    what: { resources: ["docs.file:///srv/docs/*"], prompts: ["docs.review_*"] }
`;

test("a rule selects resources by server and URI, and prompts by server and name", () => {
  const resource = { kind: "resource", name: "file:///srv/docs/a.md" } as const;
  assert.equal(ask(READS, resource).effect, "allow");
  assert.equal(ask(READS, { ...resource, server: "other" }).effect, "deny");
  assert.equal(ask(READS, { ...resource, name: "file:///etc/passwd" }).effect, "deny");
  assert.equal(ask(READS, { kind: "prompt", name: "review_pr" }).effect, "allow");
  assert.equal(ask(READS, { kind: "prompt", name: "file:///srv/docs/a.md" }).effect, "deny");
  const { rule, reason } = ask(READS, resource);
  assert.equal(rule, "reads");
  assert.match(reason, /rule reads allows resource file:\/\/\/srv\/docs\/a\.md of MCP server docs/);
});

test("a URI that leads elsewhere than it seems to is denied", () => {
  for (const path of [
    "../../etc/passwd",
    "..",
    "./a.md",
    "a/../b.md",
    "..%2f..%2fetc/passwd",
    "%2e%2e/%2E%2E/etc/passwd",
    "%252e%252e/etc/passwd",
    "..\\..\\etc",
    "%61.md",
    "a\0.md",
  ]) {
    const resource = { kind: "resource", name: `file:///srv/docs/${path}` } as const;
    const { effect, rule, reason } = ask(READS, resource);
    assert.deepEqual({ effect, rule }, { effect: "deny", rule: null }, path);
    assert.match(reason, /does not say where it leads/, path);
    const all = '  - { id: all, effect: allow, what: { resources: ["docs.*"] } }\n';
    assert.equal(ask(all, resource).effect, "deny", path);
    const tool = mcpToolRef("docs", resource.name);
    const principal = { user: "team-a", agent: null, runId: null };
    const asked = { kind: resource.kind, principal, tool, layers: null };
    assert.equal(mayEverAllowFeature(bundleOf(all), asked), false, path);
  }
  for (const name of ["memo://../a", "memo:../a", "memo:a/../b", "memo://a/.."])
    assert.equal(ask(READS, { kind: "resource", name }).rule, null, name);
});

test("a URI of whatever form is allowed by a rule that names it", () => {
  for (const name of [
    "file://./notes.md",
    "urn:isbn:0451450523",
    "memo:a/b",
    "memo://team.a/b..c/.d?q=x.y#z",
    "repo://owner/src%2Fmain.ts",
    "docs://a%20b/{path}",
    "https://a.example//b",
  ]) {
    const rules = `  - { id: it, effect: allow, what: { resources: ["docs.${name}"] } }\n`;
    assert.equal(ask(rules, { kind: "resource", name }).rule, "it", name);
  }
});

test("a rule that denies resources ignores differences in the spelling of a URI", () => {
  const rules = `  - { id: all, effect: allow, what: { resources: ["docs.*"] } }
  - { id: private, effect: deny, what: { resources: ["docs.file:///srv/a%20b/*"] } }
`;
  for (const name of [
    "file:///srv/a%20b/x",
    "file:///srv/a b/x",
    "file:///srv//a%20b/x",
    "file:///srv%2Fa%20b/x",
    "FILE:///srv/a%20b/x",
    "file://localhost/srv/a%20b/x",
    "file://LOCALHOST/srv/a%20b//x",
  ])
    assert.equal(ask(rules, { kind: "resource", name }).rule, "private", name);
  for (const name of ["file:///srv/A%20b/x", "file:///srv/ab/x", "file:///srv/%FF/x"])
    assert.equal(ask(rules, { kind: "resource", name }).rule, "all", name);
});

test("a rule that allows every tool allows no other feature", () => {
  for (const what of ["", "    what: { tools: ['*'] }\n", "    what: { tools: ['docs.*'] }\n"]) {
    const rules = `  - id: tools\n    effect: allow\n${what}`;
    for (const kind of KINDS) assert.equal(ask(rules, { kind }).rule, null, kind);
  }
});

test("a rule about features allows no tool", () => {
  const call = { principal: { user: "cli", agent: null, runId: null }, args: {}, layers: null };
  const everyFeature = bundleOf(`  - id: features
    effect: allow
    what: { resources: ["*.*"], prompts: ["*.*"], sampling: ["*"], elicitation: ["*"], logging: ["*"] }
`);
  const tool = mcpToolRef("docs", "read");
  assert.equal(decide(everyFeature, { ...call, tool }).effect, "deny");
  for (const kind of KINDS)
    assert.equal(decideFeature(everyFeature, { ...call, tool, kind }).effect, "allow", kind);
});

test("a deny rule wins, and one that names nothing denies every feature", () => {
  const secret = `${READS}  - id: no-secrets\n    effect: deny\n    what: { resources: ["*.*secret*"] }\n`;
  const uri = "file:///srv/docs/secret.md";
  assert.equal(ask(secret, { kind: "resource", name: uri }).rule, "no-secrets");
  const closed = `${READS}  - id: closed\n    effect: deny\n    note: closed today\n`;
  assert.match(ask(closed, { kind: "prompt", name: "review_pr" }).reason, /: closed today$/);
});

test("conditions check the arguments, and arguments that cannot be judged do not help the caller", () => {
  const rules = `  - id: small
    effect: allow
    what: { sampling: [docs] }
    when: [{ arg: /maxTokens, op: lte, value: 500 }]
`;
  assert.equal(ask(rules, { kind: "sampling", args: { maxTokens: 500 } }).effect, "allow");
  assert.equal(ask(rules, { kind: "sampling", args: { maxTokens: 501 } }).effect, "deny");
  assert.equal(ask(rules, { kind: "sampling", args: { maxTokens: "1" } }).effect, "deny");
});

test("a run token only narrows: resources and prompts have to fit a pattern, server requests the server", () => {
  const rules = `${READS}  - id: samples\n    effect: allow\n    what: { sampling: [docs] }\n`;
  const resource = { kind: "resource", name: "file:///srv/docs/a.md", agent: "reader" } as const;
  assert.equal(ask(rules, { ...resource, tools: ["docs.*"] }).effect, "allow");
  assert.equal(ask(rules, { ...resource, tools: ["docs.read_file"] }).effect, "deny");
  const sampling = { kind: "sampling", agent: "reader" } as const;
  assert.equal(ask(rules, { ...sampling, tools: ["docs.read_file"] }).effect, "allow");
  assert.equal(ask(rules, { ...sampling, tools: ["other.*"] }).effect, "deny");
  assert.equal(ask(rules, { ...sampling, tools: [] }).effect, "deny");
});

test("lint distinguishes duplicates by their features and reports no rule about features as dead", () => {
  const bundle = parseBundle({
    file: "policy.yaml",
    text: `version: 1\nrules:\n${READS}  - id: samples
    effect: allow
    what: { sampling: [docs] }
  - id: no-tools
    effect: deny
    what: { tools: ["*"] }
  - id: samples-again
    effect: allow
    what: { sampling: [docs] }
`,
  });
  assert.deepEqual(
    lint(bundle).map(({ kind, rule }) => [kind, rule]),
    [["duplicate", "samples-again"]],
  );
});

test("tools that are allowed with some arguments are never filtered out", () => {
  const part = fc.constantFrom("a", "b", "a/x", "*");
  const rule = fc.record({
    effect: fc.constantFrom("allow", "deny"),
    server: fc.constantFrom("docs", "other", "*"),
    name: part,
    isConditional: fc.boolean(),
  });
  const question = fc.record({ name: fc.constantFrom("a", "b", "a/x"), size: fc.nat(3) });
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 6 }),
      question,
      (rules, { name, size }) => {
        const bundle = bundleOf(
          rules
            .map(
              ({ effect, server, name: glob, isConditional }, index) =>
                `  - id: r${index}\n    effect: ${effect}\n    what: { resources: ["${server}.${glob}"] }\n${
                  isConditional ? "    when: [{ arg: /size, op: lte, value: 1 }]\n" : ""
                }`,
            )
            .join(""),
        );
        const asked = {
          kind: "resource" as const,
          principal: { user: "cli", agent: null, runId: null },
          tool: mcpToolRef("docs", name),
          layers: null,
        };
        const { effect } = decideFeature(bundle, { ...asked, args: { size } });
        if (effect === "allow") assert.equal(mayEverAllowFeature(bundle, asked), true);
      },
    ),
  );
});
