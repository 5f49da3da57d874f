import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import fc from "fast-check";
import {
  approveTools,
  blockTools,
  droppablePins,
  seeTool,
  type SeenTool,
  type Sight,
} from "./decide-pins.ts";
import { stateOf, type PinRecord } from "./pin-record.ts";

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const hard: ToolFinding = {
  code: "hidden_characters",
  severity: "hard",
  where: "/description",
  evidence: "",
};
const soft: ToolFinding = { ...hard, code: "instruction_like", severity: "soft" };

const seen = (definition: string, more: Partial<SeenTool> = {}): SeenTool => ({
  name: "read",
  ref: { name: "mcp__s__read" },
  pin: digest(definition),
  definitionDigest: digest(definition),
  findings: [],
  ...more,
});
const first = {
  trust: "pin-first-use",
  isSameShape: false,
  isLater: false,
  now: "2026-01-01T00:00:00.000Z",
} as const;
const review = { ...first, trust: "review" } as const;
const reworded = { ...first, trust: "pin-schema", isSameShape: true } as const;
const see = (record: PinRecord | undefined, tool: SeenTool, setting: Sight = first) =>
  seeTool(record, tool, setting) ?? record ?? assert.fail("no record");
const state = (record: PinRecord) => stateOf(record, record.digest);
const approve = (record: PinRecord, override: ToolFinding["code"][] = []) => {
  const done = approveTools(new Map([[record.tool, record]]), {
    tools: [{ tool: record.tool }],
    override,
    by: "ann",
    now: first.now,
  });
  return "refusal" in done ? done.refusal : (done.changed[0] ?? assert.fail("nothing approved"));
};

test("approves or holds a first listing according to the trust setting", () => {
  assert.equal(state(see(undefined, seen("a"))), "approved");
  assert.equal(state(see(undefined, seen("a", { findings: [soft] }))), "approved");
  assert.equal(state(see(undefined, seen("a"), review)), "pending");
});

test("holds a tool that its server lists later, unless the trust setting allows it", () => {
  for (const trust of ["pin-first-use", "pin-schema", "review"] as const)
    assert.equal(state(see(undefined, seen("a"), { ...first, trust, isLater: true })), "pending");
  const trusting = { ...first, trust: "pin-new-tools", isLater: true } as const;
  assert.equal(state(see(undefined, seen("a"), trusting)), "approved");
  assert.equal(state(see(undefined, seen("a", { findings: [hard] }), trusting)), "blocked");
  const approved = see(undefined, seen("a"));
  assert.equal(state(see(approved, seen("b"), trusting)), "changed");
});

test("holds every change, and takes the approved definition back", () => {
  const approved = see(undefined, seen("a"));
  const changed = see(approved, seen("b"));
  assert.equal(state(changed), "changed");
  assert.equal(stateOf(changed, digest("a")), "approved");
  assert.equal(state(see(changed, seen("c"))), "changed");
  assert.equal(state(see(changed, seen("a"))), "approved");
});

test("accepts other texts of the same schema where the trust setting allows it, and nothing else", () => {
  const approved = see(undefined, seen("a"), reworded);
  assert.equal(state(approved), "approved");
  const next = see(approved, seen("b"), reworded);
  assert.deepEqual([state(next), next.approved?.by], ["approved", "pin-schema"]);
  assert.equal(state(see(approved, seen("b"), { ...reworded, isSameShape: false })), "changed");
  for (const trust of ["pin-first-use", "review"] as const)
    assert.equal(state(see(approved, seen("b"), { ...reworded, trust })), "changed");
  // A change that was held before the setting was made is accepted when it is listed next.
  const held = see(approved, seen("b"));
  assert.equal(state(see(held, seen("b"), reworded)), "approved");
  const blocked = { ...approved, blocked: { by: "ann", at: first.now } };
  assert.equal(state(see(blocked, seen("b"), reworded)), "blocked");
});

test("holds other texts that have something remarkable which the approved ones had not", () => {
  const approved = see(undefined, seen("a"), reworded);
  assert.equal(state(see(approved, seen("b", { findings: [soft] }), reworded)), "changed");
  assert.equal(state(see(approved, seen("b", { findings: [hard] }), reworded)), "blocked");
  const known = see(undefined, seen("a", { findings: [soft] }), reworded);
  assert.equal(state(see(known, seen("b", { findings: [soft] }), reworded)), "approved");
  const schema = { ...soft, code: "schema_not_portable", where: "/inputSchema/anyOf" } as const;
  assert.equal(state(see(approved, seen("b", { findings: [schema] }), reworded)), "approved");
});

test("blocks hard findings until each of them is named", () => {
  const blocked = see(undefined, seen("a", { findings: [hard, soft] }));
  assert.equal(state(blocked), "blocked");
  assert.deepEqual(approve(blocked), { kind: "findings", tool: "read", codes: [hard.code] });
  const approved = approve(blocked, [hard.code]);
  assert.ok("tool" in approved && "name" in approved);
  assert.equal(state(approved), "approved");
  // A later definition that hides nothing is a change all the same.
  assert.equal(state(see(blocked, seen("b"))), "pending");
  const again = see(approved, seen("c", { findings: [hard] }));
  assert.equal(state(again), "blocked");
  assert.equal(stateOf(again, digest("a")), "approved");
});

test("carries an approval over when only the server's identity changed, unless it is reviewed", () => {
  const approved = see(undefined, seen("a"));
  const moved = seen("d", { definitionDigest: digest("a") });
  assert.equal(state(see(approved, moved)), "approved");
  assert.equal(state(see(approved, moved, review)), "changed");
});

test("keeps what an admin blocked blocked, whatever the server lists", () => {
  const record = see(undefined, seen("a"));
  const done = blockTools(new Map([["read", record]]), {
    tools: ["read"],
    by: "ann",
    now: first.now,
  });
  const blocked = "changed" in done ? (done.changed[0] ?? assert.fail()) : assert.fail();
  assert.equal(state(blocked), "blocked");
  assert.equal(state(see(blocked, seen("b"))), "blocked");
  assert.equal(stateOf(see(blocked, seen("b")), digest("a")), "blocked");
  const approved = approve(blocked);
  assert.ok("approved" in approved);
  assert.equal(state(approved), "approved");
});

test("approves nothing when one of the tools is unknown or another than was looked at", () => {
  const record = see(undefined, seen("a"), review);
  const records = new Map([["read", record]]);
  const ask = (tools: { tool: string; digest?: string }[]) =>
    approveTools(records, { tools, override: [], by: "ann", now: first.now });
  assert.deepEqual(ask([{ tool: "read" }, { tool: "other" }]), {
    refusal: { kind: "unknown", tools: ["other"] },
  });
  assert.deepEqual(ask([{ tool: "read", digest: digest("f") }]), {
    refusal: { kind: "changed", tool: "read", digest: digest("a") },
  });
  assert.ok("changed" in ask([{ tool: "mcp__s__read", digest: digest("a") }]));
});

test("never takes a definition for approved that neither a person nor a first sight approved", () => {
  const letters = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({ do: fc.constant("see" as const), letter: letters, isHard: fc.boolean() }),
    fc.record({ do: fc.constant("approve" as const) }),
    fc.record({ do: fc.constant("block" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.boolean(), (steps, isReview) => {
      let record: PinRecord | undefined;
      const sanctioned = new Set<string>();
      for (const one of steps) {
        const before = record;
        if (one.do === "see") {
          const tool = seen(one.letter, { findings: one.isHard ? [hard] : [] });
          record = see(record, tool, isReview ? review : first);
          if (before === undefined && !isReview && !one.isHard) sanctioned.add(record.digest);
        } else if (record !== undefined) {
          const records = new Map([["read", record]]);
          const options = { by: "ann", now: first.now };
          const done =
            one.do === "approve"
              ? approveTools(records, {
                  tools: [{ tool: "read" }],
                  override: [hard.code],
                  ...options,
                })
              : blockTools(records, { tools: ["read"], ...options });
          if ("changed" in done && done.changed[0] !== undefined) [record] = done.changed;
          if (one.do === "approve" && record !== undefined) sanctioned.add(record.digest);
        }
        if (record !== undefined && state(record) === "approved")
          assert.ok(sanctioned.has(record.digest));
      }
    }),
  );
});

test("drops the oldest pins of unlisted tools to make room, and never those of a person", () => {
  const at = (name: string, month: string): PinRecord => ({
    ...see(undefined, seen("a", { name, ref: { name } }), first),
    seenAt: `2026-${month}-01T00:00:00.000Z`,
  });
  const approved = approve(see(undefined, seen("a", { name: "approved" }), review)) as PinRecord;
  const blocked = { ...at("blocked", "01"), blocked: { by: "ann", at: first.now } };
  const all = [at("new", "05"), at("old", "02"), at("listed", "01"), approved, blocked];
  const records = new Map(all.map((record) => [record.tool, record]));
  const drop = (count: number) =>
    droppablePins(records, { listed: new Set(["listed"]), count }).map(({ tool }) => tool);
  assert.deepEqual([drop(-5), drop(0), drop(1), drop(9)], [[], [], ["old"], ["old", "new"]]);
});
