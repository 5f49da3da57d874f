import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "@switchyard/rules/engine/evaluate";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { checkTexts } from "./check-texts.ts";
import type { PolicyTexts } from "@switchyard/rules/engine/validate";

const rules = (lines: string) => ({
  files: [{ name: "p.yaml", text: `version: 1\nrules:\n${lines}` }],
  tests: [],
});
const SMALL = rules("  - { id: all, effect: allow, approval: auto, what: { tools: [s.t] } }\n");
/** Long enough to be checked in a thread. */
const large = ({ files, tests }: PolicyTexts): PolicyTexts => ({
  files: files.map(({ name, text }) => ({ name, text: `${text}# ${"x".repeat(40_000)}\n` })),
  tests,
});
const BROKEN = rules("  - { id: all, efect: allow }\n");

test("a check in a thread gives the same result as a check in this process", async () => {
  const tests = [
    { name: "p.test.yaml", text: "tests:\n  - { name: x, given: { tool: s.t }, expect: deny }\n" },
  ];
  for (const texts of [SMALL, BROKEN, { ...SMALL, tests }]) {
    const here = await checkTexts(texts);
    const apart = await checkTexts(large(texts));
    assert.deepEqual(apart.lines, here.lines);
    assert.equal(apart.inForce?.bundle.digest, here.inForce?.bundle.digest);
  }
  const { inForce } = await checkTexts(large(SMALL));
  const principal = { user: "u", agent: null, runId: null };
  const call = { principal, tool: mcpToolRef("s", "t"), args: {}, layers: null };
  assert.equal(inForce && decide(inForce.bundle, call).effect, "allow");
});

test("reading thousands of rules does not block the event loop", async () => {
  const many = Array.from(
    { length: 3_000 },
    (_, n) => `  - { id: r${n}, effect: allow, what: { tools: ["s${n % 50}.t${n}_*"] } }\n`,
  );
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const checked = checkTexts(rules(many.join(""))).finally(() => clearInterval(timer));
  assert.equal((await checked).inForce?.bundle.ruleCount, 3_000);
  assert.ok(turns > 20, `other work had ${turns} turns`);
});

test("a check that takes too long is refused, and an aborted request does not wait for it", async () => {
  const { inForce, lines } = await checkTexts(large(SMALL), { limitMs: 0 });
  assert.equal(inForce, null);
  assert.match(lines[0] ?? "", /^p\.yaml: the checks took too long/);
  const leaving = new AbortController();
  const checking = checkTexts(large(SMALL), { signal: leaving.signal });
  leaving.abort(new Error("gone"));
  await assert.rejects(checking, /gone/);
});
