import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { RecordedDecision } from "@switchyard/contracts/policy/policy-replay";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { parseBundleFiles } from "@switchyard/rules/bundle/parse-bundle";
import { recordValues } from "./record-values.ts";
import { createValueReader } from "./read-values.ts";
import { replay as replayWith } from "./replay.ts";
import { createHmacSha256, createValueKeys, sealContext, type ValueKeys } from "./value-keys.ts";

const rules = `version: 1
defaults: { approval: auto }
rules:
  - { id: reads, effect: allow, what: { tools: [files.read] } }
  - { id: docs, effect: allow, what: { tools: [files.write] }, when: [{ arg: /path, op: prefix, value: docs }] }
  - { id: office, effect: allow, what: { tools: [files.list] }, when: [{ at: { zone: UTC, hours: "08:00-18:00" } }] }
  - { id: few, effect: allow, what: { tools: [files.move] }, when: [{ window: { count: true, per: user, within: 1h, lte: 9 } }] }
  - { id: asked, effect: allow, what: { tools: [files.remove] }, approval: always }
`;
const compiled = (text: string) => compileBundle(parseBundleFiles([{ file: "rules.yaml", text }]));
const bundle = compiled(rules);
const keys = createValueKeys([randomBytes(32)]);
const replay = (
  of: typeof bundle,
  decision: RecordedDecision,
  reading: { keys?: ValueKeys; mayOpen?: boolean } = {},
) => replayWith(of, decision, createValueReader({ bundle: of, keys, mayOpen: false, ...reading }));
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

/** A decision with the digests of its arguments, as the policy service records it. */
function digested(
  args: Record<string, unknown>,
  { by = keys, user = "cli" }: { by?: ValueKeys; user?: string } = {},
): RecordedDecision {
  assert.ok(by.newest !== null);
  const principal = { user, agent: "demo", runId: "r1" };
  return recorded("write", { principal, values: recordValues(args, by.newest, user) });
}

/** Replays one rule on arguments by their digests, and checks that what they answer is the answer of the values. */
function answers(
  when: string,
  args: Record<string, unknown>,
  effect: "allow" | "deny" = "allow",
): string {
  const rule = (id: string, means: string, conditions: string): string =>
    `  - { id: ${id}, effect: ${means}, what: { tools: [files.write] }${conditions} }\n`;
  const condition = `, when: [${when}]`;
  const listed =
    effect === "allow"
      ? rule("all", "allow", condition)
      : rule("all", "allow", "") + rule("no", "deny", condition);
  const of = compiled(`version: 1\ndefaults: { approval: auto }\nrules:\n${listed}`);
  const exact = replay(of, recorded("write", { args }));
  const fromDigests = replay(of, digested(args));
  if (fromDigests.kind === "unknown") return `unknown: ${fromDigests.needs} ${fromDigests.about}`;
  assert.ok(exact.kind === "decided");
  assert.deepEqual([fromDigests.effect, fromDigests.rule], [exact.effect, exact.rule], when);
  return fromDigests.effect;
}

test("digests answer what equality decides, with the types that rules distinguish", () => {
  for (const effect of ["allow", "deny"] as const)
    for (const when of [
      "{ arg: /x, op: eq, value: 1 }",
      '{ arg: /x, op: eq, value: "1" }',
      "{ arg: /x, op: in, value: [a, true, null] }",
      "{ not: { arg: /x, op: eq, value: a } }",
      "{ arg: /x, op: eq, than: /y }",
      "{ arg: /x/z, op: eq, value: 1 }",
      "{ arg: /x, op: absent }",
      "{ arg: /x, op: eq, value: 1, required: true }",
      "{ arg: /y, op: eq, value: true }",
    ])
      for (const x of [
        1,
        "1",
        "a",
        true,
        null,
        { z: 1 },
        { z: [1] },
        [1],
        undefined,
        "\u00fc",
        "u\u0308",
      ])
        for (const y of [1, "a", undefined])
          assert.doesNotMatch(
            answers(when, { ...(x !== undefined && { x }), ...(y !== undefined && { y }) }, effect),
            /unknown/,
            `${when} ${JSON.stringify({ x, y })}`,
          );
});

test("what digests cannot answer is unknown and names the condition, unless every answer decides the same", () => {
  const amount = { amount: 700 };
  assert.equal(
    answers("{ arg: /amount, op: lte, value: 500 }", amount),
    "unknown: values /amount lte 500",
  );
  assert.equal(
    answers('{ arg: /to, op: prefix, value: "DE" }', { to: "DE12" }),
    'unknown: values /to prefix "DE"',
  );
  assert.match(answers("{ arg: /to, op: maxLength, value: 3 }", { to: "DE12" }), /^unknown/);
  assert.match(answers("{ finds: [iban] }", { to: "x" }, "deny"), /^unknown: values arguments/);
  // A text is no number, whichever it is; and a value that the rules name is known.
  assert.equal(answers("{ arg: /amount, op: lte, value: 500 }", { amount: "700" }), "deny");
  assert.equal(
    answers("{ arg: /a, op: eq, value: 700 }, { arg: /amount, op: lte, value: 500 }", {
      a: 700,
      amount: 700,
    }),
    "deny",
  );
  const both = compiled(
    "version: 1\ndefaults: { approval: auto }\nrules:\n  - { id: small, effect: allow, what: { tools: [files.write] }, when: [{ arg: /amount, op: lte, value: 500 }] }\n  - { id: any, effect: allow, what: { tools: [files.write] } }\n",
  );
  const sure = replay(both, digested(amount));
  assert.ok(sure.kind === "decided");
  assert.deepEqual([sure.effect, sure.rule], ["allow", "any"]);
});

test("one value has another digest for each owner, type and key, and secrets have none", () => {
  const of = (args: Record<string, unknown>, more?: Parameters<typeof digested>[1]) =>
    Object.values(digested(args, more).values?.digests ?? {});
  const [one] = of({ x: "1" });
  assert.match(one ?? "", /^s[\w-]{22}$/, "128 bits");
  assert.deepEqual(of({ y: "1" }), [one]);
  for (const other of [
    of({ x: 1 }),
    of({ x: "1" }, { user: "team-a" }),
    of({ x: "1" }, { by: createValueKeys([randomBytes(32)]) }),
  ])
    assert.notEqual(other[0]?.slice(1), one?.slice(1));
  const secret = ["AK", "IA", "Q3".repeat(8)].join("");
  const { digests } = digested({
    apiKey: "x",
    note: `with ${secret}`,
    deep: { password: 7 },
    [secret]: 1,
  }).values ?? { digests: {} };
  assert.deepEqual(digests, { "/apiKey": "s", "/note": "s", "/deep": "o", "/deep/password": "n" });
  assert.match(answers("{ arg: /note, op: eq, value: a }", { note: secret }), /^unknown: values/);
  assert.deepEqual(digested({ to: "to \u27e6iban:1\u27e7" }).values?.digests, {
    "/to": "m\u27e6iban:1\u27e7",
  });
  assert.equal(
    answers("{ not: { arg: /to, op: eq, value: a } }", { to: "to \u27e6iban:1\u27e7" }),
    "deny",
  );
});

test("the digest is HMAC-SHA-256", () => {
  for (const size of [1, 32, 64]) {
    const key = randomBytes(size);
    for (const text of ["", "ü", "x".repeat(200)])
      assert.deepEqual(
        createHmacSha256(key)(text),
        createHmac("sha256", key).update(text).digest(),
      );
  }
});

test("more arguments than a record has leave open what is missing", () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`a${n}`, n]));
  const { values } = digested(many);
  assert.deepEqual([Object.keys(values?.digests ?? {}).length, values?.isCut], [32, true]);
  assert.equal(answers("{ arg: /a3, op: eq, value: 3 }", many), "allow");
  assert.match(answers("{ arg: /a39, op: eq, value: 39 }", many), /^unknown: values/);
  assert.match(answers("{ arg: /b, op: absent }", many), /^unknown: values/);
});

test("digests of a key that was rotated out answer with the older key beside the new one, and not without it", () => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const before = digested({ path: "docs" }, { by: createValueKeys([old]) });
  const equal = compiled(rules.replace("op: prefix", "op: eq"));
  const rotated = replay(equal, before, { keys: createValueKeys([fresh, old]) });
  assert.ok(rotated.kind === "decided");
  assert.equal(rotated.effect, "allow");
  for (const wrong of [createValueKeys([fresh]), createValueKeys([])])
    assert.deepEqual(replay(equal, before, { keys: wrong }), { kind: "unknown", needs: "key" });
});

test("encrypted arguments answer everything for who has the right, in their own record alone", () => {
  const args = { path: "docs/a" };
  const argsDigest = canonicalDigest(args);
  const { values, ...rest } = digested(args);
  const sealed = keys.cipher?.seal(JSON.stringify(args), sealContext("cli", argsDigest));
  assert.ok(values !== undefined && sealed !== undefined);
  const full = { ...rest, argsDigest, values: { ...values, sealed } };
  const opened = replay(bundle, full, { mayOpen: true });
  assert.ok(opened.kind === "decided");
  assert.equal(opened.effect, "allow");
  const about = '/path prefix "docs"';
  assert.deepEqual(replay(bundle, full), { kind: "unknown", needs: "right", about });
  const moved = { ...full, argsDigest: canonicalDigest({}) };
  const refused = replay(bundle, moved, { mayOpen: true });
  assert.deepEqual(refused, { kind: "unknown", needs: "values", about });
});
