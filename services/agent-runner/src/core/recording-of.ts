import type {
  RecordedAnswer,
  RecordedPart,
  Recording,
} from "@switchyard/contracts/agent-runner/recording";
import type { AnswerPart } from "./answer-part.ts";
import { asWritten } from "./call-tool.ts";
import type { EntryOf, JournalEntry } from "./journal-entry.ts";
import { applyEntry, startOf } from "./replay.ts";
import type { RunState } from "./run-state.ts";
import { recordedRequest, RUN } from "./recorded-request.ts";

/** Returns the answers of a run's models; null when there is no answer yet, or the run begins with an earlier conversation. */
export function recordingOf(entries: readonly JournalEntry[]): Recording | null {
  const [first, ...rest] = entries;
  if (first?.kind !== "started" || first.fork !== undefined) return null;
  if ((first.before ?? []).length > 0) return null;
  const answers: RecordedAnswer[] = [];
  const summaries: Recording["summaries"] = [];
  let state = startOf(first);
  for (const entry of rest) {
    if (entry.kind === "model-responded") answers.push(recordedAnswer(state, entry));
    if (entry.kind === "compacted") {
      const { upTo, summary: text, usage } = entry;
      summaries.push({ upTo, text, usage: usageOf(usage) });
    }
    state = applyEntry(state, entry);
  }
  if (answers.length === 0) return null;
  const { contextWindow } = first;
  return {
    version: 1,
    answers,
    summaries,
    ...(contextWindow === undefined ? {} : { contextWindow }),
  };
}

function recordedAnswer(state: RunState, entry: EntryOf<"model-responded">): RecordedAnswer {
  const { heard = 0, content, finishReason, usage, servedModel } = entry;
  // A message that came while the model was answering was not part of the request.
  const question = { ...state, messages: state.messages.slice(0, heard) };
  return {
    request: recordedRequest(question),
    content: content.map((part) => recordedPart(part, state.started.runId)),
    finishReason,
    usage: usageOf(usage),
    servedModel,
  };
}

function usageOf({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) {
  return { inputTokens, outputTokens };
}

function recordedPart(part: AnswerPart, runId: string): RecordedPart {
  if (part.type !== "tool-call") return { type: part.type, text: part.text };
  const { toolCallId } = part;
  const { tool, input } = asWritten(part);
  // The runner's own id, where the provider gave none.
  return { type: "tool-call", toolCallId: toolCallId.replace(runId, RUN), tool, input };
}
