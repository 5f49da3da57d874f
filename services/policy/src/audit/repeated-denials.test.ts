import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { createRepeatedDenials, type Denial } from "./repeated-denials.ts";

const refusal: AuditFact = {
  kind: "refusal",
  provider: "broker",
  caller: "team-a",
  reason: "expired",
};
const denialOf = (tool: string, user = "team-a"): Denial => ({
  what: "decision",
  provider: "broker",
  user,
  tool: mcpToolRef("files", tool),
  rule: "no-writes",
});
const digest = `sha256:${"0".repeat(64)}`;

function lab() {
  const facts: AuditFact[] = [];
  let time = 0;
  const denials = createRepeatedDenials({
    now: () => time,
    writer: {
      append: (fact) => {
        facts.push(fact());
        return {
          ref: `policy-${"0".repeat(16)}:${facts.length}`,
          seq: facts.length,
          isSealed: true,
        };
      },
    },
  });
  const deny = (denial: Denial, times: number): string[] =>
    Array.from(
      { length: times },
      () =>
        denials.record(
          denial,
          () => refusal,
          () => digest,
        ).ref,
    );
  return { facts, denials, deny, pass: (ms: number) => void (time += ms) };
}

test("the first denials of a kind have records of their own, the rest of the minute is one with their number", () => {
  const { facts, denials, deny, pass } = lab();
  const refs = deny(denialOf("write"), 10);
  assert.equal(new Set(refs).size, 10);
  pass(1_000);
  assert.deepEqual(new Set(deny(denialOf("write"), 500)), new Set([refs[0]]));
  pass(1_000);
  deny(denialOf("write"), 500);
  assert.equal(facts.length, 10);
  denials.stop();
  assert.deepEqual(facts[10], {
    kind: "repeat",
    ...denialOf("write"),
    like: refs[0],
    count: 1_000,
    first: "1970-01-01T00:00:01.000Z",
    last: "1970-01-01T00:00:02.000Z",
    argsDigest: digest,
  });
});

test("another tool, another user and the next minute begin anew", () => {
  const { facts, denials, deny, pass } = lab();
  for (const denial of [denialOf("write"), denialOf("delete"), denialOf("write", "team-b")])
    deny(denial, 20);
  assert.equal(facts.length, 30);
  pass(60_000);
  deny(denialOf("write"), 1);
  assert.deepEqual(
    facts.slice(30).map(({ kind }) => kind),
    ["repeat", "refusal"],
  );
  denials.stop();
});

test("a user that is denied ever new tools is counted under fifty and one for the rest", () => {
  const { facts, denials, deny } = lab();
  for (let index = 0; index < 5_000; index += 1) deny(denialOf(`tool-${index}`), 1);
  assert.equal(facts.length, 60);
  denials.stop();
  const rest = facts[60];
  assert.ok(rest?.kind === "repeat" && rest.tool === undefined);
  assert.equal(rest.count, 4_940);
});
