import assert from "node:assert/strict";
import { test } from "node:test";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { writtenToolRef } from "@switchyard/contracts/tool-names";
import { bundleDigest } from "../schema/bundle.ts";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { BundleError, parseBundle } from "../bundle/parse-bundle.ts";
import { decide } from "../engine/evaluate.ts";
import { lint } from "../engine/lint.ts";
import { hasRight } from "./has-right.ts";

const RULES = "rules:\n  - { id: all, effect: allow }\n";
const bundle = (text: string) => parseBundle({ file: "rules.yaml", text: `version: 1\n${text}` });

test("only the command line and the admin may replay, and no requester approves calls it dictated, unless the policy allows it", () => {
  const { rights } = bundle(RULES);
  const who = (right: Parameters<typeof hasRight>[1], entries = rights) =>
    ["cli", "admin", "team-a", "team-b"].filter((user) => hasRight(entries, right, user));
  assert.deepEqual(who("replay"), ["cli", "admin"]);
  assert.deepEqual(who("approve-own"), []);
  assert.deepEqual(who("share-memory"), []);
  const said = bundle(
    `rights:\n  - { id: a, right: replay, users: [team-a] }\n  - { id: b, right: approve-own, users: [cli] }\n${RULES}`,
  );
  assert.deepEqual(who("replay", said.rights), ["team-a"]);
  assert.deepEqual(who("approve-own", said.rights), ["cli"]);
  assert.notEqual(bundleDigest(said), bundleDigest(bundle(RULES)));
});

test("an unknown right, or one without users, refuses the bundle with its position", () => {
  const lines = (text: string): string => {
    try {
      bundle(text);
      return "";
    } catch (error) {
      assert.ok(error instanceof BundleError);
      return error.lines.join("\n");
    }
  };
  const one = (entry: string) => lines(`rights:\n  - ${entry}\n${RULES}`);
  assert.match(
    one("{ id: a, right: fly, users: [x] }"),
    /rights\[0\]\.right must be replay or approve-own or share-memory or replay-values/,
  );
  assert.match(one("{ id: a, right: replay }"), /rights\[0\]\.users is missing/);
  assert.match(
    one("{ id: a, right: replay, user: [x], users: [y] }"),
    /unknown key "user" in rights\[0\]/,
  );
  assert.match(
    one("{ id: a, right: replay, users: [x] }\n  - { id: a, right: replay, users: [y] }"),
    /already the id of rights\[0\]/,
  );
  const denying = "rules:\n  - { id: d, effect: deny, who: { replayed: true } }\n";
  assert.match(lines(denying), /who\.replayed goes only with effect: allow/);
  assert.match(
    lines("rules:\n  - { id: d, effect: allow, who: { replayed: no } }\n"),
    /replayed must be true/,
  );
});

const compiled = compileBundle(
  bundle(`rules:
  - { id: agent-reads, effect: allow, approval: auto, who: { agents: [demo] }, what: { tools: [files.read] } }
  - { id: role-writes, effect: allow, approval: auto, who: { roles: [writer] }, what: { tools: [files.write] } }
  - { id: played-lists, effect: allow, approval: auto, who: { agents: [demo], replayed: true }, what: { tools: [files.list] } }
  - { id: team-stats, effect: allow, approval: auto, who: { users: [team-a] }, what: { tools: [files.stat] } }
  - { id: no-secrets, effect: deny, who: { agents: [demo] }, what: { tools: [files.secret] } }
`),
);
const effectOf = (tool: string, context?: Principal["context"]) => {
  const principal = {
    user: "team-a",
    agent: "demo",
    runId: "r",
    roles: ["writer"],
    ...(context && { context }),
  };
  const ref = writtenToolRef(`files.${tool}`) ?? assert.fail(tool);
  return decide(compiled, { principal, tool: ref, args: {}, layers: null, server: undefined })
    .effect;
};

test("a replayed run may do what its requester may call by hand, and what rules for agents allow replayed runs", () => {
  const tools = ["read", "write", "list", "stat", "secret"];
  assert.deepEqual(
    tools.map((tool) => effectOf(tool)),
    ["allow", "allow", "allow", "allow", "deny"],
  );
  assert.deepEqual(
    tools.map((tool) => effectOf(tool, { replayed: true })),
    ["deny", "deny", "allow", "allow", "deny"],
  );
});

test("a rule that is about replayed runs, too, is not a duplicate and not shadowed", () => {
  const text = `rules:
  - { id: asks, effect: allow, approval: always, who: { agents: [demo] }, what: { tools: [files.read] } }
  - { id: played, effect: allow, approval: session, who: { agents: [demo], replayed: true }, what: { tools: [files.read] } }
`;
  assert.deepEqual(lint(bundle(text)), []);
});
