import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordedDecision } from "@switchyard/contracts/policy/policy-replay";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { parseBundleFiles } from "@switchyard/rules/bundle/parse-bundle";
import { replay } from "./replay.ts";

const rules = `version: 1
defaults: { approval: auto }
rules:
  - { id: reads, effect: allow, what: { tools: [files.read] } }
  - { id: docs, effect: allow, what: { tools: [files.write] }, when: [{ arg: /path, op: prefix, value: docs }] }
  - { id: office, effect: allow, what: { tools: [files.list] }, when: [{ at: { zone: UTC, hours: "08:00-18:00" } }] }
  - { id: few, effect: allow, what: { tools: [files.move] }, when: [{ window: { count: true, per: user, within: 1h, lte: 9 } }] }
  - { id: asked, effect: allow, what: { tools: [files.remove] }, approval: always }
`;
const bundle = compileBundle(parseBundleFiles([{ file: "rules.yaml", text: rules }]));
const recorded = (tool: string, more: Partial<RecordedDecision> = {}): RecordedDecision => ({
  principal: { user: "cli", agent: "demo", runId: "r1" },
  access: "tool",
  tool: mcpToolRef("files", tool),
  ...more,
});

test("a decision that does not depend on the arguments is replayed from the facts that are always recorded", () => {
  const read = replay(bundle, recorded("read"));
  assert.ok(read.kind === "decided");
  assert.deepEqual([read.effect, read.rule], ["allow", "reads"]);
  const asked = replay(bundle, recorded("remove"));
  assert.ok(asked.kind === "decided");
  assert.deepEqual([asked.effect, asked.tier], ["ask", "always"]);
  const none = replay(bundle, recorded("rename"));
  assert.ok(none.kind === "decided");
  assert.deepEqual([none.effect, none.rule], ["deny", null]);
});

test("a decision that depends on earlier calls is not replayed", () => {
  const known = { args: {}, at: "2026-11-27T08:00:00.000Z" };
  assert.deepEqual(replay(bundle, recorded("move", known)), { kind: "unknown", needs: "history" });
});

test("a decision that depends on the hour is replayed with the time of the record, without arguments", () => {
  assert.deepEqual(replay(bundle, recorded("list")), { kind: "unknown", needs: "time" });
  for (const [at, effect] of [
    ["2026-11-27T08:00:00.000Z", "allow"],
    ["2026-11-27T07:59:59.000Z", "deny"],
  ] as const) {
    const replayed = replay(bundle, recorded("list", { at }));
    assert.ok(replayed.kind === "decided");
    assert.equal(replayed.effect, effect, at);
  }
});

test("a decision that depends on arguments is replayed only with their values", () => {
  assert.deepEqual(replay(bundle, recorded("write")), { kind: "unknown", needs: "arguments" });
  for (const [path, effect] of [
    ["docs/a", "allow"],
    ["etc/a", "deny"],
  ] as const) {
    const result = replay(bundle, recorded("write", { args: { path } }));
    assert.ok(result.kind === "decided");
    assert.equal(result.effect, effect);
  }
});

test("the patterns of the run token narrow as they did, and without them the result is unknown", () => {
  const narrowed = replay(bundle, recorded("read", { layers: [["web.*"]] }));
  assert.ok(narrowed.kind === "decided");
  assert.equal(narrowed.effect, "deny");
  const { kind } = replay(bundle, recorded("read", { layers: [["files.*"]] }));
  assert.equal(kind, "decided");
  assert.deepEqual(replay(bundle, recorded("read", { layers: null })), {
    kind: "unknown",
    needs: "layers",
  });
});

test("a request that is not a tool call always depends on its arguments", () => {
  const resource = recorded("read", { access: "resource" });
  assert.deepEqual(replay(bundle, resource), { kind: "unknown", needs: "arguments" });
  const known = replay(bundle, { ...resource, args: {} });
  assert.ok(known.kind === "decided");
  assert.equal(known.effect, "deny");
});
