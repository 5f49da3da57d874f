import { canonicalJson, canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Event } from "@switchyard/contracts/define";
import {
  childEnded,
  childStarted,
  questionAnswered,
  questionRequested,
  runSteered,
  runWaiting,
  runWoken,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { redactFields } from "@switchyard/service/redact";
import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import type { EntryOf } from "./journal-entry.ts";
import type { ToolCallPart } from "./answer-part.ts";
import type { RunState } from "./run-state.ts";
import { waitsOf } from "./waits-of.ts";

/** A contract and its payload, without the fields that every event of a run carries. */
export type Fact = readonly [Event, Record<string, unknown>];

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
export function waitFacts(before: RunState, entry: WaitEntry): Fact[] {
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
export function requestFact(
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
