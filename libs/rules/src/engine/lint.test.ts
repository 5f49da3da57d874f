import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesGlob } from "@switchyard/contracts/glob";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import { Rule } from "../schema/bundle.ts";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { decide } from "./evaluate.ts";
import { lint } from "./lint.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { coversGlob } from "./pattern-cover.ts";

function findings(rules: string): (string | null)[][] {
  const bundle = parseBundle({ file: "test.yaml", text: `version: 1\nrules:\n${rules}` });
  return lint(bundle).map(({ kind, rule }) => [kind, rule]);
}

test("a rule that allows commands by their beginning and leaves them a shell allows any", () => {
  const rule = (body: string, id = "git") => `  - { id: ${id}, effect: allow, ${body} }\n`;
  const git = '{ arg: /command, op: prefix, value: "git " }';
  const when = (...conditions: string[]) => `when: [${conditions.join(", ")}]`;
  const what = "what: { tools: [execute_command] }";
  for (const open of [
    `${what}, ${when(git)}`,
    `what: { tools: [group:runtime] }, ${when(git)}`,
    when('{ arg: /command, op: glob, value: "git *" }'),
  ])
    assert.deepEqual(findings(rule(open)), [["open-shell", "git"]], open);
  const deny =
    "  - { id: no-shell, effect: deny, what: { tools: [execute_command] }, when: [{ arg: /shell, op: eq, value: true }] }\n";
  for (const closed of [
    rule(`${what}, ${when(git, "{ arg: /shell, op: absent }")}`),
    rule(`${what}, ${when("{ arg: /command, op: in, value: [git status] }")}`),
    rule(`what: { tools: [files.run] }, ${when(git)}`),
    deny + rule(`${what}, ${when(git)}`),
  ])
    assert.deepEqual(findings(closed), [], closed);
});

test("an allow rule that a deny rule covers wholly is dead", () => {
  const deny = "  - { id: no, effect: deny, what: { tools: [files.write_*, git.*] } }\n";
  const dead = [
    "what: { tools: [mcp__files__write_file] }",
    "what: { tools: [files.write_*, git.push], }",
    "what: { tools: [files.write_*_?] }, who: { agents: [demo] }, when: [{ arg: /a, op: eq, value: 1 }]",
  ];
  for (const body of dead) {
    const rules = `${deny}  - { id: yes, effect: allow, ${body} }\n`;
    assert.deepEqual(findings(rules), [["dead", "yes"]], body);
  }
  const alive = [
    "what: { tools: [files.write_file, files.read_file] }",
    "what: { tools: ['files.*'] }",
    "what: { tools: ['?.write_x'] }",
    "what: { tools: [write_file] }",
    "who: { agents: [demo] }",
  ];
  for (const body of alive) {
    const rules = `${deny}  - { id: yes, effect: allow, ${body} }\n`;
    assert.deepEqual(findings(rules), [], body);
  }
});

test("a deny rule with conditions, or for others, leaves an allow rule alive", () => {
  const allow = "  - { id: yes, effect: allow, what: { tools: [files.read] } }\n";
  for (const body of [
    "when: [{ arg: /a, op: eq, value: 1 }]",
    "who: { users: [a*] }",
    "who: { agents: ['*'] }",
  ]) {
    assert.deepEqual(findings(`${allow}  - { id: no, effect: deny, ${body} }\n`), [], body);
  }
  const everyone = "  - { id: no, effect: deny, who: { users: ['*'] } }\n";
  assert.deepEqual(findings(allow + everyone), [["dead", "yes"]], "every call has a user");
});

test("lint reports rules with the same selectors, however these are written", () => {
  const rules = `
  - { id: a, effect: allow, who: { agents: [x, y] }, what: { tools: [files.read] }, note: one }
  - { id: b, effect: allow, who: { agents: [y, x, x] }, what: { tools: [mcp__files__read] } }
  - { id: c, effect: deny, who: { agents: [y, x] }, what: { tools: [files__read] } }
  - { id: d, effect: deny, who: { agents: [y, x] }, what: { tools: [files__read] }, when: [{ arg: /p, op: absent }] }
`;
  assert.deepEqual(findings(rules), [
    ["duplicate", "b"],
    ["conflict", "a"],
    ["conflict", "b"],
  ]);
});

test("lint of a bundle with too many pairs reports that not all were compared", () => {
  const rules = Array.from(
    { length: 600 },
    (_, index) =>
      `  - { id: a${index}, effect: allow, what: { tools: [files.a${index}] } }\n  - { id: d${index}, effect: deny, what: { tools: [files.d${index}] } }\n`,
  );
  assert.deepEqual(findings(rules.join("")), [["incomplete", null]]);
});

const glob = fc.stringMatching(/^[ab*?]{1,6}$/);

test("a glob that covers another matches all that the other matches", () => {
  const text = fc.stringMatching(/^[abc]{0,6}$/);
  fc.assert(
    fc.property(glob, glob, fc.array(text, { maxLength: 30 }), (wide, narrow, texts) => {
      if (!coversGlob(wide, narrow)) return;
      for (const each of texts.filter((candidate) => matchesGlob(narrow, candidate))) {
        assert.equal(matchesGlob(wide, each), true, `${wide} covers ${narrow}, not ${each}`);
      }
    }),
    { numRuns: 3_000 },
  );
  assert.equal(coversGlob("*?", "?*"), true);
  assert.equal(coversGlob("?*", "*"), false);
  assert.equal(coversGlob("?x*", "😀x*"), false, "a ? is one UTF-16 unit, as in matching");
});

test("a rule that is found dead or in conflict never decides a call", () => {
  const pattern = fc.constantFrom("*", "a.*", "a.x", "a.x*", "?.x", "mcp__*", "x", "x*");
  const name = fc.constantFrom("*", "demo", "d*", "other");
  const some = <T>(item: fc.Arbitrary<T>) =>
    fc.option(fc.array(item, { minLength: 1, maxLength: 2 }));
  const body = fc.record({
    effect: fc.constantFrom("allow", "deny"),
    tools: some(pattern),
    users: some(name),
    agents: some(name),
    when: fc.option(fc.constant([{ arg: "/p", op: "lte", value: 3 }])),
  });
  const call = fc.record({
    tool: fc.constantFrom(
      mcpToolRef("a", "x"),
      mcpToolRef("a", "xy"),
      mcpToolRef("b", "x"),
      builtinToolRef("x"),
      builtinToolRef("y"),
    ),
    user: fc.constantFrom("demo", "other"),
    agent: fc.constantFrom("demo", "other", null),
    args: fc.constantFrom({}, { p: 1 }, { p: 5 }, { p: "1" }),
  });
  fc.assert(
    fc.property(fc.array(body, { minLength: 2, maxLength: 6 }), fc.array(call), (bodies, calls) => {
      const rules = bodies.map(({ effect, tools, users, agents, when }, index) =>
        Rule.parse({
          id: `r${index}`,
          effect,
          ...(tools && { what: { tools } }),
          ...((users ?? agents) && { who: { ...(users && { users }), ...(agents && { agents }) } }),
          ...(when && { when }),
        }),
      );
      const useless = new Set(
        lint({ version: 1, rules })
          .filter(({ kind }) => kind !== "duplicate")
          .map(({ rule }) => rule),
      );
      const bundle = compileBundle({ version: 1, rules });
      for (const { user, agent, tool, args } of calls) {
        const principal = { user, agent, runId: null };
        const { rule } = decide(bundle, { principal, tool, args, layers: null });
        assert.equal(rule !== null && useless.has(rule), false, rule ?? "");
      }
    }),
    { numRuns: 1_000 },
  );
});
