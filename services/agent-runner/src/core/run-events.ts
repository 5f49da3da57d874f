import type { Event } from "@switchyard/contracts/define";
import {
  modelResponded,
  runCancelled,
  runDead,
  runFailed,
  runFinished,
  runLimitsChanged,
  runResumed,
  runRetried,
  runStarted,
  runToolsUnavailable,
  skillActivated,
  toolCompleted,
  toolDenied,
  toolFailed,
  childEnded,
  childStarted,
  questionAnswered,
  questionRequested,
  runSteered,
  runWaiting,
  runWoken,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { canonicalJson, canonicalDigest } from "@switchyard/contracts/canonical-json";
import { redactFields } from "@switchyard/service/redact";
import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import type { listRunEvents, RunEventRecord } from "@switchyard/contracts/agent-runner/run-history";
import type { z } from "zod";
import { eventFacts } from "./event-facts.ts";
import type { EntryOf, JournalEntry } from "./journal-entry.ts";
import type { SkillRef, ToolCallPart } from "./answer-part.ts";
import { dictationOf, type StartedEntry } from "./started-entry.ts";
import { textOf } from "./next-action.ts";
import { applyEntry, startOf, withDiscarded } from "./replay.ts";
import { callOf, type RunState, waitsOf } from "./run-state.ts";

/** One event of a run, ready to be published. */
export interface RunEvent {
  readonly contract: Event;
  readonly seq: number;
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * Derives the events of a whole journal. They depend on nothing else, so a runner that takes a run over makes the same events as
 * its predecessor, with the same sequence numbers.
 */
export function eventsOf(entries: readonly JournalEntry[]): RunEvent[] {
  const [first, ...rest] = entries;
  if (first?.kind !== "started") return [];
  let state = startOf(first);
  const events = startEvents(first);
  for (const entry of rest) {
    events.push(...eventsOfEntry(state, entry));
    state = applyEntry(state, entry);
  }
  return events;
}

/** The events of the first entry of a run. */
function startEvents(entry: StartedEntry): RunEvent[] {
  return numbered(entry.runId, 0, entry.at, [
    [
      runStarted,
      {
        agent: entry.agent,
        agentDigest: entry.agentDigest,
        policyDigest: entry.policyDigest,
        requester: entry.requester,
        model: entry.model,
        labels: entry.labels,
        ...(entry.parent === undefined ? {} : { parent: entry.parent }),
        ...(entry.session === undefined ? {} : { session: entry.session }),
        ...(dictationOf(entry).replayed === true ? { replayed: true } : {}),
        ...(entry.fork === undefined ? {} : { forkedFrom: forkedFrom(entry.fork) }),
      },
    ],
    ...entry.skills.map(skillEvent),
  ]);
}

/** The events of one entry, given the state before it. */
export function eventsOfEntry(before: RunState, entry: JournalEntry): RunEvent[] {
  return numbered(before.started.runId, before.events, entry.at, factsOf(before, entry));
}

function numbered(runId: string, events: number, at: string, facts: readonly Fact[]): RunEvent[] {
  return facts.map(([contract, facets], index) => {
    const seq = events + index + 1;
    return { contract, seq, payload: { runId, seq, at, ...eventFacts(facets) } };
  });
}

function factsOf(before: RunState, entry: JournalEntry): Fact[] {
  switch (entry.kind) {
    case "started":
    case "tools-left-out":
    case "compacted":
    case "tool-dispatched":
    case "tool-unsent":
    case "cancel-requested":
    case "limit-reached":
    case "stopped":
    case "stop-lifted":
      return [];
    case "limits-changed": {
      const { by, streamSequence } = entry;
      return [[runLimitsChanged, { by, limits: applyEntry(before, entry).limits, streamSequence }]];
    }
    case "tool-parked":
    case "waiting":
    case "woken":
    case "wait-resolved":
    case "child-started":
    case "child-ended":
    case "steered":
    case "skill-dispatched":
      return waitFacts(before, entry);
    case "dead":
      return [[runDead, { failure: entry.failure, ...workOf(before) }]];
    case "resumed":
      return [[runResumed, { attempt: entry.attempt, journalEntries: entry.journalEntries }]];
    case "tools-unavailable":
      return [[runToolsUnavailable, { servers: entry.servers }]];
    case "model-responded":
      return answerFacts(before, entry);
    case "tool-completed":
      return completionFacts(before, entry);
    case "tool-denied":
      return [[toolDenied, { ...callFacets(before, entry.callId), decision: entry.decision }]];
    case "tool-failed": {
      const { code, message } = entry;
      return [[toolFailed, { ...callFacets(before, entry.callId), code, message }]];
    }
    case "finished":
      return [[runFinished, finishFacets(before, entry)]];
    case "failed":
      return [[runFailed, { failure: entry.failure, ...workOf(withDiscarded(before, entry)) }]];
    case "cancelled":
      return [[runCancelled, { ...before.cancellation, ...workOf(withDiscarded(before, entry)) }]];
    case "retried": {
      const { by, streamSequence } = entry;
      return [[runRetried, { by, limits: applyEntry(before, entry).limits, streamSequence }]];
    }
    default:
      return entry satisfies never;
  }
}

function answerFacts(before: RunState, entry: EntryOf<"model-responded">): Fact[] {
  const { step, content, usage, durationMs } = entry;
  const calls = content.filter((part) => part.type === "tool-call");
  const answer = {
    step,
    model: entry.model ?? before.started.model,
    text: textOf(content),
    toolCalls: calls.length,
    usage,
    durationMs,
    ...(entry.costUsd === undefined ? {} : { costUsd: entry.costUsd }),
    ...(entry.passedOver === undefined ? {} : { passedOver: entry.passedOver }),
  };
  return [[modelResponded, answer], ...calls.map((call) => requestFact(call, step))];
}

function completionFacts(before: RunState, entry: EntryOf<"tool-completed">): Fact[] {
  const completed: Fact = [
    toolCompleted,
    {
      ...callFacets(before, entry.callId),
      isError: entry.isError,
      decision: entry.decision,
      preview: entry.text,
      textBytes: entry.textBytes,
      durationMs: entry.durationMs,
      replayed: entry.replayed,
    },
  ];
  return entry.skill === null ? [completed] : [completed, skillEvent(entry.skill)];
}

function finishFacets(before: RunState, entry: EntryOf<"finished">): Record<string, unknown> {
  return {
    output: entry.output,
    model: before.model,
    steps: before.turns.length,
    toolCalls: before.toolCalls,
    ...(before.deniedCalls === 0 ? {} : { deniedCalls: before.deniedCalls }),
    usage: before.usage,
    costUsd: before.costUsd,
    durationMs: Math.max(0, Date.parse(entry.at) - Date.parse(before.started.at)),
  };
}

function workOf({ turns, costUsd, usage }: RunState): Record<string, unknown> {
  return { steps: turns.length, costUsd, usage };
}

function callFacets(before: RunState, callId: string): Record<string, unknown> {
  const { part, step } = callOf(before, callId);
  return { step, callId, tool: part.tool };
}

function forkedFrom({ runId, fromStep }: NonNullable<StartedEntry["fork"]>) {
  return { runId, fromStep };
}

function skillEvent({ name, digest }: SkillRef): Fact {
  return [skillActivated, { skill: name, digest }];
}

/** A contract and its payload, without the fields that every event of a run carries. */
type Fact = readonly [Event, Record<string, unknown>];

type WaitEntry = EntryOf<
  | "tool-parked"
  | "waiting"
  | "woken"
  | "wait-resolved"
  | "child-started"
  | "child-ended"
  | "steered"
  | "skill-dispatched"
>;

/** Converts entries about waits, children and messages to published facts. */
function waitFacts(before: RunState, entry: WaitEntry): Fact[] {
  switch (entry.kind) {
    case "tool-parked":
      return entry.wait.reason === "question" ? [questionFact(entry.callId, entry.wait)] : [];
    case "waiting":
      return [[runWaiting, { waits: waitsOf(before).map(withoutQuestion), until: entry.until }]];
    case "woken":
      return [[runWoken, { attempt: entry.attempt }]];
    case "wait-resolved": {
      const { callId, resolution } = entry;
      return resolution.type === "answer"
        ? [[questionAnswered, { callId, by: resolution.by }]]
        : [];
    }
    case "child-started": {
      const { callId, childRunId, agent } = entry;
      return [[childStarted, { callId, childRunId, agent }]];
    }
    case "child-ended": {
      const { callId, childRunId, status } = entry;
      return [[childEnded, { callId, childRunId, status }]];
    }
    case "steered": {
      const { by, message, streamSequence } = entry;
      const said = { by, preview: message };
      return [[runSteered, streamSequence === undefined ? said : { ...said, streamSequence }]];
    }
    case "skill-dispatched": {
      const { tool = "", input = {} } = before.started.dispatch ?? {};
      return [requestFact({ callId: entry.callId, tool, input }, 1)];
    }
    default:
      return entry satisfies never;
  }
}

/** The event `question-requested` has published it already. */
function withoutQuestion(wait: RunWait): RunWait {
  const { question: _question, options: _options, schema: _schema, ...rest } = wait;
  return rest;
}

/** The fact that a call is requested. */
function requestFact(
  { callId, tool, input }: Pick<ToolCallPart, "callId" | "tool" | "input">,
  step: number,
): Fact {
  const argsPreview = canonicalJson(redactFields(input));
  return [toolRequested, { step, callId, tool, argsPreview, argsDigest: canonicalDigest(input) }];
}

function questionFact(
  callId: string,
  wait: Extract<EntryOf<"tool-parked">["wait"], { reason: "question" }>,
): Fact {
  const { question, options, schema, until } = wait;
  const facts = { callId, question, options, until };
  return [questionRequested, schema === undefined ? facts : { ...facts, schema }];
}

type Page = z.input<typeof listRunEvents.reply>;

/** A page of longer events ends earlier, so that a reply is not too large for a message. */
const PAGE_CHARACTERS = 128 * 1024;

/** Returns a page of the events of a journal: those behind `after`, and at least one where there is one. */
export function eventPage(
  entries: readonly JournalEntry[],
  { after, limit }: { readonly after: number; readonly limit: number },
): Page {
  const all = eventsOf(entries);
  const page: RunEventRecord[] = [];
  let characters = 0;
  for (const event of all.slice(after, after + limit)) {
    characters += JSON.stringify(event.payload).length;
    if (page.length > 0 && characters > PAGE_CHARACTERS) break;
    page.push(recordOf(event));
  }
  const last = after + page.length;
  return { events: page, next: page.length > 0 && last < all.length ? last : null };
}

function recordOf({ contract, payload }: RunEvent): RunEventRecord {
  const event = contract.subject.slice(contract.subject.lastIndexOf(".") + 1);
  // Every event of a run has these fields; `run-events.ts` numbers them all.
  return { event, payload: payload as RunEventRecord["payload"] };
}
