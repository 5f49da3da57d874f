import assert from "node:assert/strict";
import { test } from "node:test";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { checkEvidence } from "./check-evidence.ts";
import type { Effect, EventFact, Evidence, JournalFact, Rule, RunEvidence } from "./evidence.ts";

const MARK = "mcp__marking__mark";
const DANGER = "mcp__marking__danger";
const FORBIDDEN = "mcp__marking__forbidden";
const markInput = { run: "r1", place: "one" };
const dangerInput = { run: "r1", place: "two" };

/** A run as it should be: a free call, then an approved one. */
const journal: readonly JournalFact[] = [
  { kind: "started", at: 1, onUnknownOutcome: "fail" },
  {
    kind: "model-responded",
    at: 2,
    step: 1,
    calls: [
      { callId: "r1:1:0", tool: MARK, input: markInput },
      { callId: "r1:1:1", tool: DANGER, input: dangerInput },
    ],
  },
  { kind: "tool-completed", at: 10, callId: "r1:1:0", effect: "allow" },
  { kind: "tool-completed", at: 20, callId: "r1:1:1", effect: "allow" },
  { kind: "model-responded", at: 21, step: 2, calls: [] },
  { kind: "finished", at: 22 },
];
const events: readonly EventFact[] = [
  ["started", null],
  ["model-responded", null],
  ["tool-requested", "r1:1:0"],
  ["tool-requested", "r1:1:1"],
  ["tool-completed", "r1:1:0"],
  ["tool-completed", "r1:1:1"],
  ["model-responded", null],
  ["finished", null],
].map(([name, callId], index) => ({ name: name ?? "", seq: index + 1, callId: callId ?? null }));
const run: RunEvidence = { runId: "r1", status: "succeeded", journal, events };
const effects: readonly Effect[] = [
  { phase: "began", tool: "mark", ...markInput, at: 5 },
  { phase: "ended", tool: "mark", ...markInput, at: 6 },
  { phase: "began", tool: "danger", ...dangerInput, at: 15 },
];
const approval = {
  id: "apr-1",
  state: "consumed",
  callId: "r1:1:1",
  decision: { by: "cli" },
  consumedAt: "2026-01-01T00:00:00.000Z",
} as unknown as Approval; // other members are not checked
const sound: Evidence = {
  accepted: ["r1"],
  runs: [run],
  effects,
  approvals: [approval],
  permits: [
    { runId: "r1", tool: MARK, argsDigest: "", effect: "allow", isForAnyArguments: true },
    {
      runId: "r1",
      tool: DANGER,
      argsDigest: canonicalDigest(dangerInput),
      effect: "ask",
      isForAnyArguments: false,
    },
  ],
  queued: [],
  leftOver: [],
  crashes: [],
  refusals: [],
  rejections: [],
  sessions: [],
  messages: [],
  jobs: [],
  absences: [],
};

test("finds nothing in a round that was as it should be", () => {
  assert.deepEqual(checkEvidence(sound), []);
});

const withRun = (changes: Partial<RunEvidence>): Evidence => ({
  ...sound,
  runs: [{ ...run, ...changes }],
});
const withJournal = (change: (facts: JournalFact[]) => JournalFact[]): Evidence =>
  withRun({ journal: change([...journal]) });
const again = (effect: Effect | undefined, at: number): Effect[] =>
  effect === undefined ? [] : [{ ...effect, at }];

/** Planted faults, and the rule that the checker must name. */
const planted: readonly (readonly [string, Rule, Evidence])[] = [
  ["an accepted run without a trace", "run-lost", { ...sound, accepted: ["r1", "r2"] }],
  [
    "a run without an end",
    "one-end",
    withRun({ journal: journal.slice(0, -1), events: events.slice(0, -1), status: "running" }),
  ],
  [
    "a run with two ends",
    "one-end",
    withJournal((facts) => [...facts, { kind: "failed", at: 30 }]),
  ],
  [
    "a journal that continues after the end",
    "one-end",
    withJournal((facts) => [...facts, { kind: "resumed", at: 30 }]),
  ],
  ["a state that says something else than the journal", "one-end", withRun({ status: "failed" })],
  [
    "a second terminal event",
    "one-end",
    withRun({ events: [...events, { name: "failed", seq: 9, callId: null }] }),
  ],
  [
    "another terminal event than the journal's",
    "one-end",
    withRun({ events: [...events.slice(0, -1), { name: "failed", seq: 8, callId: null }] }),
  ],
  [
    "a step that was answered twice",
    "one-result",
    withJournal((facts) => facts.toSpliced(4, 0, { kind: "model-responded", at: 20, step: 1 })),
  ],
  [
    "a call with two results",
    "one-result",
    withJournal((facts) =>
      facts.toSpliced(3, 0, { kind: "tool-failed", at: 11, callId: "r1:1:0" }),
    ),
  ],
  [
    "a finished run whose call has no result",
    "one-result",
    withJournal((facts) => facts.toSpliced(2, 1)),
  ],
  [
    "a result that no answer asked for",
    "unasked-call",
    withJournal((facts) =>
      facts.toSpliced(4, 0, { kind: "tool-failed", at: 20, callId: "r1:9:9" }),
    ),
  ],
  [
    "an effect that is in no journal",
    "unasked-call",
    {
      ...sound,
      effects: [...effects, { phase: "began", tool: "mark", run: "r9", place: "x", at: 7 }],
    },
  ],
  [
    "a call that was executed twice",
    "executed-twice",
    { ...sound, effects: [...effects, ...again(effects[0], 7)] },
  ],
  [
    "a call that was executed after its result",
    "executed-after-result",
    { ...sound, effects: [...effects, ...again(effects[0], 999)] },
  ],
  ["a result without an execution", "invented-result", { ...sound, effects: effects.slice(2) }],
  ["a call without an allow record", "unpermitted-call", { ...sound, permits: [] }],
  [
    "a call whose record is of other arguments",
    "unpermitted-call",
    {
      ...sound,
      permits: sound.permits.map((permit) => ({
        ...permit,
        argsDigest: "sha256:other",
        isForAnyArguments: false,
      })),
    },
  ],
  [
    "a call whose record is of another run",
    "unpermitted-call",
    { ...sound, permits: sound.permits.map((permit) => ({ ...permit, runId: "r2" })) },
  ],
  [
    "a denied call that was executed",
    "unpermitted-call",
    withJournal((facts) =>
      facts.with(2, { kind: "tool-denied", at: 10, callId: "r1:1:0", effect: "deny" }),
    ),
  ],
  [
    "a result under a decision that is no allow",
    "unpermitted-call",
    withJournal((facts) =>
      facts.with(2, { kind: "tool-completed", at: 10, callId: "r1:1:0", effect: "ask" }),
    ),
  ],
  ["an asked call without an approval", "unapproved-call", { ...sound, approvals: [] }],
  [
    "an asked call whose approval was denied",
    "unapproved-call",
    { ...sound, approvals: [{ ...approval, state: "denied", consumedAt: null }] },
  ],
  [
    "an asked call without an approval, although the policy has let it pass",
    "unapproved-call",
    {
      ...sound,
      approvals: [],
      permits: sound.permits.map((permit) => ({ ...permit, effect: "allow" })),
    },
  ],
  [
    "a forbidden call, although the policy has let it pass",
    "unpermitted-call",
    {
      ...withJournal((facts) =>
        facts.with(1, {
          kind: "model-responded",
          at: 2,
          step: 1,
          calls: [
            { callId: "r1:1:0", tool: FORBIDDEN, input: markInput },
            { callId: "r1:1:1", tool: DANGER, input: dangerInput },
          ],
        }),
      ),
      effects: effects.map((effect) =>
        effect.tool === "mark" ? { ...effect, tool: "forbidden" } : effect,
      ),
      permits: sound.permits.map((permit) =>
        permit.tool === MARK ? { ...permit, tool: FORBIDDEN } : permit,
      ),
    },
  ],
  [
    "a call that was executed and reported as not made",
    "denied-execution",
    withJournal((facts) =>
      facts.with(2, { kind: "tool-failed", at: 10, callId: "r1:1:0", code: "server_down" }),
    ),
  ],
  [
    "a command that stays in the queue",
    "left-queued",
    { ...sound, queued: ["yard.cmd.cli.run.start.walker"] },
  ],
  [
    "an approval that was good for two executions",
    "approval-used-twice",
    { ...sound, effects: [...effects, ...again(effects[2], 16)] },
  ],
  [
    "a gap in the events",
    "events",
    withRun({
      events: events.map((event) => (event.seq < 5 ? event : { ...event, seq: event.seq + 1 })),
    }),
  ],
  [
    "an event that was stored twice",
    "events",
    withRun({ events: events.flatMap((event) => (event.seq === 3 ? [event, event] : [event])) }),
  ],
  [
    "events in another order",
    "events",
    withRun({
      events: [...events.slice(0, 4), ...events.slice(4, 6).toReversed(), ...events.slice(6)],
    }),
  ],
  [
    "an event with another result than the journal",
    "events",
    withRun({ events: events.with(4, { name: "tool-failed", seq: 5, callId: "r1:1:0" }) }),
  ],
  [
    "a process that still runs",
    "left-running",
    { ...sound, leftOver: [{ pid: 4711, name: "marking server" }] },
  ],
  ["a key that Redis refused", "refused", { ...sound, refusals: ["broker-1: NOPERM"] }],
  ["a service that ended by itself", "crashed", { ...sound, crashes: ["runner-1 with 1"] }],
];

for (const [what, rule, evidence] of planted) {
  test(`finds ${what}`, () => {
    const rules = checkEvidence(evidence).map((violation) => violation.rule);
    assert.ok(rules.includes(rule), `${rule} is not among ${rules.join(", ") || "nothing"}`);
  });
}

test("lets a call that was given up have its effect later", () => {
  const givenUp = withRun({
    journal: journal.with(2, {
      kind: "tool-failed",
      at: 4,
      callId: "r1:1:0",
      code: "outcome_unknown",
    }),
    events: events.with(4, { name: "tool-failed", seq: 5, callId: "r1:1:0" }),
  });
  assert.deepEqual(checkEvidence(givenUp), []);
});

test("lets a call with an unknown outcome be made once more where the agent wants it, and not a third time", () => {
  const stubborn = withJournal((facts) => [
    { kind: "started", at: 1, onUnknownOutcome: "retry" },
    ...facts.slice(1),
  ]);
  const twice = { ...stubborn, effects: [...effects, ...again(effects[0], 7)] };
  assert.deepEqual(checkEvidence(twice), []);
  const thrice = { ...twice, effects: [...twice.effects, ...again(effects[0], 8)] };
  assert.deepEqual(
    checkEvidence(thrice).map(({ rule }) => rule),
    ["executed-twice"],
  );
});
