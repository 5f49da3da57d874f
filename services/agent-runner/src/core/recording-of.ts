import { createHash } from "node:crypto";
import type {
  RecordedAnswer,
  RecordedPart,
  Recording,
  RecordedRequest,
} from "@switchyard/contracts/agent-runner/recording";
import type { AnswerPart } from "./answer-part.ts";
import { asWritten } from "./call-tool.ts";
import type { EntryOf, JournalEntry } from "./journal-entry.ts";
import { applyEntry, startOf } from "./replay.ts";
import type { RunState } from "./run-state.ts";
import { conversationOf } from "./conversation.ts";

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

/** Digests the next request to the model. Another run of the same agent has the same digests. */
export function recordedRequest(state: RunState): RecordedRequest {
  const { runId, instructions, session } = state.started;
  const messages = conversationOf(state);
  const answered = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  // Call ids contain the run's id, also in the text that the model reads, and skills may name their session.
  const digest = (value: unknown): string =>
    createHash("sha256")
      .update(
        JSON.stringify(value, withoutProviderOptions)
          .replaceAll(runId, RUN)
          .replaceAll(session?.sessionId ?? runId, RUN),
      )
      .digest("hex")
      .slice(0, 16);
  return {
    instructions: digest(instructions),
    messages: messages.length,
    earlier: digest(messages.slice(0, answered)),
    since: messages.slice(answered).map(digest),
  };
}

/** Replaces the id of the run that is recorded or replayed. */
const RUN = "{run}";

/** Signatures and cache marks are new in every run, and no recording has them. */
function withoutProviderOptions(key: string, value: unknown): unknown {
  return key === "providerOptions" ? undefined : value;
}

/** Describes where a request differs from the recorded one; null when it is the same. */
export function differenceOf(recorded: RecordedRequest, current: RecordedRequest): string | null {
  if (recorded.instructions !== current.instructions)
    return "the instructions are others (agent, skills or their catalogue have changed)";
  if (recorded.earlier !== current.earlier) return "an earlier message or answer is another";
  const first = recorded.since.findIndex((digest, index) => digest !== current.since[index]);
  const before = current.messages - current.since.length;
  if (first >= 0 && first < current.since.length)
    return `message ${before + first + 1} of ${current.messages} is another (input, or the result of a tool)`;
  if (recorded.messages !== current.messages)
    return `there are ${current.messages} messages instead of ${recorded.messages}`;
  return null;
}
