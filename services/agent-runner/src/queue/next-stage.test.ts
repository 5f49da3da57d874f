import type { Delivery } from "@switchyard/bus/delivery";
import { ServiceError } from "@switchyard/contracts/errors";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { RunCommand } from "../commands/run-command.ts";
import { Suspended } from "../core/interruption.ts";
import type { ClaimResult } from "../journal/run-claim.ts";
import {
  afterAdmission,
  afterBegin,
  afterClaim,
  afterEntering,
  afterFailedPreparation,
  afterPreparation,
  afterRead,
  afterRecall,
  firstStage,
  type At,
  type Known,
  type Stage,
} from "./next-stage.ts";
import { keptOf, type Received, type Start } from "./take-message.ts";

const MAX_ATTEMPTS = 3;
const facts = {
  caller: "team-a",
  subject: "yard.cmd.team-a.run.start.helper",
  streamSequence: 7,
  deliveryCount: 1,
  messageId: "m1",
  publishedAt: new Date("2026-01-01T00:00:00Z"),
  isEarly: false,
  holder: "queue:7",
  correlationId: "r1",
  traceparent: "",
  signal: new AbortController().signal,
};
const tokens = { caller: "team-a", agent: "helper" };
const message: Received = {
  ...facts,
  kind: "command",
  contract: startRun,
  tokens,
  payload: { input: "hi", runId: "r1" },
};
const early: Delivery = { ...message, isEarly: true };
const command: RunCommand = {
  runId: "r1",
  agent: "helper",
  requester: "team-a",
  payload: { input: "hi" },
  digest: "d1",
};
const inSession: RunCommand = { ...command, payload: { input: "hi", session: "s" } };
const parent = { runId: "r0", callId: "c1", depthLeft: 1, skillDigest: undefined };
const start: Start = {
  next: "start",
  command,
  message,
  received: message,
  sessionId: null,
  isLikelyNew: false,
};
const rejection = { code: "unknown_agent", message: "no", problems: [] };
const created = {
  started: startedEntry(),
  token: { token: "t", expiresAt: 0 },
  listing: Promise.resolve({ tools: [], denied: [], unavailable: [] }),
};
const { known } = firstStage(message);
const reading = firstStage(message);
const hold = { runId: "r1", epoch: "4" };
const claimed: Extract<ClaimResult, { outcome: "claimed" }> = {
  outcome: "claimed",
  hold,
  attempts: 1,
  stalled: 1,
  rests: 2,
  published: 0,
  cancel: null,
};

const full = (scope: "redis" | "owner"): ServiceError =>
  new ServiceError("storage_full", "no room", { data: { scope, usedBytes: 2, limitBytes: 1 } });

/** Describes a stage in one line. */
function shown(at: Stage): string {
  switch (at.stage) {
    case "claim": {
      const { created: parts, isHint, otherwise, run } = at;
      const what = `${parts === null ? "claim" : "create"} ${run.digest ?? "any"}`;
      return `${what}${isHint ? ", a hint" : ""}, or ${shown(otherwise)}`;
    }
    case "refuse": {
      const { refused, rejection: why, reservedBy } = at;
      const waiting = [refused.parent?.runId, refused.sessionId].filter(Boolean).join(", ");
      const freed = reservedBy === null ? "" : `, room of ${reservedBy}`;
      return `refuse ${refused.runId} ${why.code} (${waiting})${freed}`;
    }
    case "give-up":
      return `give-up ${at.refused.runId}${at.text === null ? "" : " with its text"}`;
    case "over": {
      const { outcome, isNews } = at;
      const delay = outcome.outcome === "retry" ? ` in ${outcome.delayMs}` : "";
      return `${outcome.outcome}${delay}${isNews ? "" : ", no news"}`;
    }
    default:
      return at.stage;
  }
}

function check(cases: readonly (readonly [string, Stage, string])[]): void {
  for (const [title, at, expected] of cases) assert.equal(shown(at), expected, title);
}

test("a message that runners died of is given up before it is read again", () => {
  const sentByRun: Delivery = {
    ...message,
    kind: "rejected",
    code: "malformed_json",
    message: "",
    problems: [],
  };
  check([
    ["the first delivery", afterBegin(0, message, MAX_ATTEMPTS), "read"],
    ["the limit", afterBegin(MAX_ATTEMPTS, message, MAX_ATTEMPTS), "read"],
    [
      "more",
      afterBegin(MAX_ATTEMPTS + 1, message, MAX_ATTEMPTS),
      "give-up team-a~r1 with its text",
    ],
    ["early, and taken before", afterBegin(null, early, MAX_ATTEMPTS), "retry in 0, no news"],
  ]);
  assert.equal(afterBegin(2, message, MAX_ATTEMPTS).known.deaths, 2);
  const unread = afterBegin(MAX_ATTEMPTS + 1, sentByRun, MAX_ATTEMPTS);
  assert.equal(unread.stage === "give-up" && unread.text, null);
});

test("a message is done, refused, or about a run that exists or is to begin", () => {
  const goOn = (why: "hint" | "turn" | "retry"): Stage =>
    afterRead({ next: "go-on", runId: "r1", why }, reading);
  const begin = (change: Partial<Start>): Stage => afterRead({ ...start, ...change }, reading);
  check([
    ["a control", afterRead({ next: "done" }, reading), "done"],
    [
      "an invalid command",
      afterRead({ next: "reject", rejection, runId: null }, reading),
      "refuse null unknown_agent ()",
    ],
    ["a hint", goOn("hint"), "recall"],
    ["a turn", goOn("turn"), "claim any, or done"],
    ["a retry", goOn("retry"), "claim any, or retry in 0"],
    ["a new run", begin({ isLikelyNew: true }), "enter-session"],
    ["a run that may exist", begin({}), "claim d1, or enter-session"],
    ["a message to a session", begin({ command: inSession }), "claim d1, or admit"],
    ["a turn of a new run", begin({ command: inSession, isLikelyNew: true }), "admit"],
  ]);
  const inTurn = begin({ isLikelyNew: true, sessionId: "s1" });
  assert.equal(inTurn.known.sessionId, "s1");
});

test("a hint is about the stored command, if there is one", () => {
  const at: At<"recall"> = { stage: "recall", known, runId: "r1" };
  const stored = { command: keptOf(message), rests: 3 };
  const unknown = { command: { ...keptOf(message), contract: "runs.later" }, rests: 3 };
  check([
    ["none is stored", afterRecall(null, at, message), "claim any, a hint, or done"],
    ["one of a newer version", afterRecall(unknown, at, message), "done"],
    ["taken early", afterRecall(stored, at, early), "retry in 0, no news"],
    ["its turn", afterRecall(stored, at, message), "read"],
  ]);
  const read = afterRecall(stored, at, { ...message, caller: "runner", messageId: "hint" });
  assert.deepEqual(read.known.kept, { runId: "r1", rests: 3 });
  // A refusal names the sender of the command, not of the hint.
  const { caller, messageId } = read.known.message;
  assert.deepEqual([caller, messageId], ["team-a", "m1"]);
});

test("a run without room is refused unless it exists, and waits when it was accepted before", () => {
  const admit = (change: Partial<Start> = {}): At<"admit"> => ({
    stage: "admit",
    known,
    start: { ...start, command: inSession, ...change },
  });
  const child = admit({ command: { ...inSession, parent } });
  check([
    ["room", afterAdmission(null, admit()), "enter-session"],
    [
      "Redis is full",
      afterAdmission(full("redis"), admit()),
      "claim d1, or refuse r1 storage_full ()",
    ],
    [
      "the owner of a child has no room",
      afterAdmission(full("owner"), child),
      "claim d1, or refuse r1 storage_full (r0)",
    ],
  ]);
  assert.throws(() => afterAdmission(full("redis"), child), Suspended);
  assert.throws(() => afterAdmission(full("redis"), admit({ sessionId: "s1" })), Suspended);
  assert.throws(() => afterAdmission(new TypeError("bug"), admit()), TypeError);
  assert.equal(afterAdmission(full("redis"), admit()).known.beginning, null);
});

test("a command is prepared when its session lets it, and given up when runners died of it", () => {
  const at = (change: Partial<Known> = {}): At<"enter-session"> => ({
    stage: "enter-session",
    known: { ...known, beginning: start, ...change },
    start,
  });
  const session = { sessionId: "s1", key: "s" };
  const go = { next: "go", command: { ...command, session } } as const;
  const dead = afterEntering(go, at({ deaths: MAX_ATTEMPTS }), MAX_ATTEMPTS);
  check([
    ["queued", afterEntering({ next: "done" }, at(), MAX_ATTEMPTS), "done"],
    [
      "refused by its session",
      afterEntering({ next: "reject", rejection }, at({ sessionId: "s1" }), MAX_ATTEMPTS),
      "refuse r1 unknown_agent ()",
    ],
    ["its turn", afterEntering(go, at(), MAX_ATTEMPTS), "prepare"],
    ["one death less", afterEntering(go, at({ deaths: 2 }), MAX_ATTEMPTS), "prepare"],
    ["deadly", dead, "give-up r1 with its text"],
  ]);
  assert.equal(dead.stage === "give-up" && dead.refused.sessionId, "s1");
});

test("a prepared run is created, and one that cannot be prepared is refused unless it exists", () => {
  const at = (of: RunCommand = command): At<"prepare"> => ({
    stage: "prepare",
    known: { ...known, sessionId: "s1", beginning: start },
    start: { ...start, command: of },
    command: of,
  });
  const rejected = { outcome: "rejected", rejection } as const;
  check([
    ["prepared", afterPreparation(null, created, at()), "create d1, or retry in 0"],
    [
      "no room",
      afterPreparation(full("owner"), created, at()),
      "claim d1, or refuse r1 storage_full (s1)",
    ],
    [
      "a mistake in the command",
      afterFailedPreparation(rejected, at({ ...command, parent })),
      "claim d1, or refuse r1 unknown_agent (r0, s1), room of team-a",
    ],
    [
      "another runner prepares it",
      afterFailedPreparation({ outcome: "not-ours" }, at()),
      "claim d1, or retry in 1000",
    ],
  ]);
  const waiting = at({ ...command, parent });
  assert.throws(() => afterPreparation(full("redis"), created, waiting), Suspended);
  assert.equal(afterPreparation(null, created, at()).known.beginning, start);
});

test("a claimed run is worked on, and one that has ended or waits is completed", () => {
  const otherwise: Stage = { stage: "enter-session", known, start };
  const at: At<"claim"> = {
    stage: "claim",
    known: { ...known, sessionId: "s1" },
    run: { ...command, parent },
    created,
    isHint: false,
    otherwise,
  };
  const hint = { ...at, isHint: true };
  const busy: ClaimResult = { outcome: "busy", retryMs: 50 };
  check([
    ["no such run", afterClaim({ outcome: "absent" }, at), "enter-session"],
    ["another command's", afterClaim({ outcome: "taken" }, at), "refuse r1 run_id_taken (r0, s1)"],
    ["deleted", afterClaim({ outcome: "deleted" }, at), "refuse r1 run_id_taken (r0, s1)"],
    ["another runner has it", afterClaim(busy, at), "retry in 50, no news"],
    ["another runner has it and its message", afterClaim(busy, hint), "done"],
    ["ended", afterClaim({ outcome: "ended", hold, published: 1 }, at), "found"],
    ["waits", afterClaim({ outcome: "waiting", hold, published: 1 }, hint), "found"],
    ["claimed", afterClaim(claimed, at), "held"],
  ]);
  const held = afterClaim(claimed, at);
  assert.equal(held.stage === "held" && held.created, created);
});
