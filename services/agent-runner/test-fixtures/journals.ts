import fc from "fast-check";
import type { JournalEntry } from "../src/core/journal-entry.ts";
import type { StartedEntry } from "../src/core/started-entry.ts";
import { limitFailure, nextAction } from "../src/core/next-action.ts";
import { applyEntry, startOf } from "../src/core/replay.ts";
import { openCalls, type RunState } from "../src/core/run-state.ts";

/** Journals that a runner can have written, made by playing runs with a drawn model and drawn tools. */

const DIGEST = `sha256:${"b".repeat(64)}`;
const START = Date.parse("2026-01-01T00:00:00.000Z");

export function startedEntry(fields: Partial<StartedEntry> = {}): StartedEntry {
  return {
    kind: "started",
    at: new Date(START).toISOString(),
    runId: "r1",
    agent: "tester",
    agentDigest: DIGEST,
    requester: "cli",
    input: "do it",
    labels: {},
    model: "scripted/plan",
    temperature: null,
    instructions: "",
    prompt: "do it",
    limits: { maxSteps: 6, maxToolCalls: null, timeoutMs: 3_600_000 },
    toolLayers: [],
    skills: [],
    catalogue: [],
    plan: null,
    policyDigest: DIGEST,
    ...fields,
  };
}

interface Draw {
  readonly calls: number;
  readonly outcome: number;
  readonly takeover: boolean;
  readonly cancel: boolean;
  readonly text: string;
}

const draw: fc.Arbitrary<Draw> = fc.record({
  calls: fc.integer({ min: 0, max: 4 }),
  outcome: fc.integer({ min: 0, max: 4 }),
  takeover: fc.boolean(),
  cancel: fc.nat({ max: 12 }).map((drawn) => drawn === 0),
  text: fc.string(),
});

export const journals: fc.Arbitrary<JournalEntry[]> = fc
  .tuple(
    fc.integer({ min: 1, max: 6 }),
    fc.option(fc.integer({ min: 0, max: 6 })),
    fc.array(draw, { minLength: 1 }),
  )
  .map(([maxSteps, maxToolCalls, draws]) =>
    play(draws, { maxSteps, maxToolCalls, timeoutMs: 3_600_000 }),
  );

function play(draws: readonly Draw[], limits: StartedEntry["limits"]): JournalEntry[] {
  const started = startedEntry({ limits, skills: [{ name: "preloaded", digest: DIGEST }] });
  const entries: JournalEntry[] = [started];
  let state = startOf(started);
  for (let turn = 0; state.end === null && turn < 200; turn += 1) {
    const drawn = draws[turn % draws.length];
    if (drawn === undefined) break;
    const at = new Date(START + turn * 10).toISOString();
    for (const entry of entriesFor(state, drawn, at)) {
      entries.push(entry);
      state = applyEntry(state, entry);
    }
  }
  return entries;
}

function entriesFor(state: RunState, drawn: Draw, at: string): JournalEntry[] {
  const resumed: JournalEntry[] = drawn.takeover
    ? [
        { kind: "resumed", at, attempt: 2, journalEntries: state.length },
        { kind: "tools-unavailable", at, servers: [{ server: "files", reason: drawn.text }] },
      ]
    : [];
  if (drawn.cancel && state.cancellation === null) {
    return [{ kind: "cancel-requested", at, by: "cli", reason: null }];
  }
  const action = nextAction(state, Date.parse(at));
  switch (action.action) {
    case "stop":
      return [];
    case "finish":
      return [...resumed, { kind: "finished", at, output: action.output }];
    case "fail":
      return [...resumed, { kind: "failed", at, failure: action.failure }];
    case "limit":
      return [...resumed, { kind: "failed", at, failure: limitFailure(action.reached) }];
    case "cancel":
      return [
        ...openCalls(state).map(({ part: { callId } }): JournalEntry => ({
          kind: "tool-failed",
          at,
          callId,
          code: "cancelled",
          message: "cancelled",
        })),
        { kind: "cancelled", at },
      ];
    case "park":
    case "dispatch-skill":
      return [];
    case "call-model":
      return [...resumed, answerEntry(action.step, drawn, at)];
    case "call-tools":
      return [
        ...resumed,
        ...action.calls.flatMap(({ part }) => callEntries(part.callId, drawn, at)),
      ];
    default:
      return action satisfies never;
  }
}

function answerEntry(step: number, drawn: Draw, at: string): JournalEntry {
  const calls = Array.from({ length: drawn.calls }, (_, index) => ({
    type: "tool-call" as const,
    callId: `r1:${step}:${index}`,
    toolCallId: `call-${step}-${index}`,
    tool: "mcp__lab__read",
    input: { text: drawn.text },
  }));
  return {
    kind: "model-responded",
    at,
    step,
    content: [{ type: "text", text: drawn.text }, ...calls],
    usage: { inputTokens: 10, outputTokens: 1 },
    finishReason: calls.length > 0 ? "tool-calls" : "stop",
    servedModel: "plan",
    durationMs: 1,
  };
}

function callEntries(callId: string, drawn: Draw, at: string): JournalEntry[] {
  const decision = { effect: "allow" as const, rule: "r", reason: "may", policyDigest: DIGEST };
  const completed = {
    kind: "tool-completed" as const,
    at,
    callId,
    text: drawn.text,
    textBytes: Buffer.byteLength(drawn.text),
    isError: false,
    decision,
    durationMs: 1,
    replayed: false,
    skill: null,
  };
  const dispatched: JournalEntry = { kind: "tool-dispatched", at, callId };
  switch (drawn.outcome) {
    case 0:
      return [dispatched, completed];
    case 1:
      return [
        dispatched,
        { kind: "tool-denied", at, callId, decision: { ...decision, effect: "deny" } },
      ];
    case 2:
      return [
        dispatched,
        { kind: "tool-failed", at, callId, code: "server_down", message: "gone" },
      ];
    case 3:
      return [{ ...completed, decision: null, skill: { name: "found", digest: DIGEST } }];
    default:
      return [dispatched, dispatched, { ...completed, isError: true }];
  }
}
