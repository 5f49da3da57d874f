import { createHash } from "node:crypto";
import type { RecordedRequest } from "@switchyard/contracts/agent-runner/recording";
import type { RunState } from "./run-state.ts";
import { conversationOf } from "./conversation.ts";

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
export const RUN = "{run}";

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
