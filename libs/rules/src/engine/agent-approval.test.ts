import { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import {
  MAX_TOOL_LAYERS,
  RUN_TOKEN_AUDIENCE,
  RUN_TOKEN_ISSUER,
  type RunTokenClaims,
} from "@switchyard/contracts/policy/run-token";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { inherit } from "../layers/inherit.ts";
import { decide } from "./evaluate.ts";
import { isKeepable } from "./keepable.ts";

const bundle = compileBundle(
  parseBundle({
    file: "p.yaml",
    text: `version: 1
rules:
  - { id: reads, effect: allow, approval: auto, what: { tools: [x.read] } }
  - { id: writes, effect: allow, approval: session, ttl: 10m, what: { tools: [x.write] } }
  - { id: shell, effect: allow, approval: always, what: { tools: [execute_command] } }
  - { id: drops, effect: deny, what: { tools: [x.drop] } }
`,
  }),
);

const TOOLS = {
  read: mcpToolRef("x", "read"),
  write: mcpToolRef("x", "write"),
  drop: mcpToolRef("x", "drop"),
  shell: builtinToolRef("execute_command"),
};

function ask(tool: keyof typeof TOOLS, approval?: ApprovalTier) {
  const principal = { user: "cli", agent: "demo", runId: "r", ...(approval && { approval }) };
  const call = { principal, tool: TOOLS[tool], args: {}, layers: null };
  const decision = decide(bundle, call);
  return { ...decision, isKept: isKeepable(bundle, call, decision) };
}

test("an agent's approval makes calls ask that the rules allow, and never lowers an approval", () => {
  const answers = (["read", "write", "shell", "drop"] as const).map((tool) => [
    ask(tool, "auto").tier,
    ask(tool, "session").tier,
    ask(tool, "always").tier,
  ]);
  assert.deepEqual(answers, [
    ["auto", "session", "always"],
    ["session", "session", "always"],
    ["always", "always", "always"],
    [undefined, undefined, undefined],
  ]);
  const raised = ask("read", "session");
  assert.equal(raised.effect, "ask");
  assert.equal(raised.rule, "reads");
  assert.ok((raised.ttlMs ?? 0) > 0);
  assert.match(raised.reason, /rule reads allows .* agent demo wants more/);
  assert.deepEqual([ask("read").isKept, raised.isKept], [true, false]);
  assert.equal(ask("write", "session").ttlMs, 600_000);
});

const tiers = fc.option(fc.constantFrom(...ApprovalTier.options), { nil: undefined });
const RANK = { auto: 0, session: 1, always: 2 };

test("a run that another one started requires the stricter approval of both agents", async () => {
  await fc.assert(
    fc.asyncProperty(tiers, tiers, async (own, above) => {
      const asked = { requester: "cli", tools: [], approval: own, parentToken: "t" };
      const inherited = await inherit(async () => claims({ approval: above }), asked);
      assert.ok(inherited.kind === "inherited");
      const said = [own, above].filter((tier) => tier !== undefined);
      const strictest = said.toSorted((a, b) => RANK[b] - RANK[a])[0];
      assert.equal(inherited.approval, strictest);
    }),
  );
});

test("a token holds each layer of patterns once, and too many layers are refused by name", async () => {
  const same = [["a", "b"]];
  const asked = { requester: "cli", tools: [["b", "a"], ["c"]], parentToken: "t" };
  const inherited = await inherit(async () => claims({ tools: same }), asked);
  assert.ok(inherited.kind === "inherited");
  assert.equal(inherited.tools.length, 2);

  const many = Array.from({ length: MAX_TOOL_LAYERS }, (_, index) => [`tool_${index}`]);
  const refused = await inherit(async () => claims({ tools: many }), asked);
  assert.ok(refused.kind === "refused");
  assert.equal(refused.reason, "layers");
  assert.match(refused.message, /18 layers of patterns; a run token holds 16/);
});

function claims(fields: Partial<RunTokenClaims>): RunTokenClaims {
  return {
    iss: RUN_TOKEN_ISSUER,
    aud: RUN_TOKEN_AUDIENCE,
    sub: "parent",
    run: "parent-run",
    requester: "cli",
    tools: [],
    iat: 0,
    exp: 1,
    ...fields,
  };
}
