import type { RunFailure } from "@switchyard/contracts/agent-runner/runs";
import { replay } from "../core/replay.ts";
import { isAnswerSent } from "../core/sent-messages.ts";
import { pause } from "@switchyard/contracts/timeouts";
import type { SessionParts } from "./session-parts.ts";
import { slotOfId } from "./session-slot.ts";

export type Answered =
  | {
      readonly output: string;
      /** True when the run has sent this very text to its chat itself. */
      readonly isSent: boolean;
    }
  | { readonly failure: RunFailure };

const FIRST_LOOK_MS = 20;
const LAST_LOOK_MS = 500;

/**
 * Waits for the end of a run; null when it does not come in time. It polls the store, at growing intervals, so nothing is
 * missed while connections come and go.
 */
export async function answerOf(
  parts: SessionParts,
  options: {
    readonly sessionId: string;
    readonly runId: string;
    readonly untilMs: number;
    readonly signal: AbortSignal;
  },
): Promise<Answered | null> {
  const { untilMs, signal } = options;
  let delayMs = FIRST_LOOK_MS;
  for (;;) {
    const answered = await lookForAnswer(parts, options);
    if (answered !== null) return answered;
    const leftMs = untilMs - parts.now();
    if (leftMs <= 0 || signal.aborted) return null;
    await pause(Math.min(delayMs, leftMs), signal).catch(() => {}); // the check above handles an abort
    delayMs = Math.min(delayMs * 1.5, LAST_LOOK_MS);
  }
}

/** The answer or the failure of a run of a session; null while it has neither. */
export async function lookForAnswer(
  { runs, store }: SessionParts,
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
): Promise<Answered | null> {
  const status = await runs.status(runId);
  if (status === "running" || status === "waiting") return null;
  if (status !== null) return endOf(await runs.load(runId));
  const { session } = (await store.read(slotOfId(sessionId) ?? "")).record;
  if (session?.sessionId !== sessionId) {
    const message = "the session was ended before the turn of this message came";
    return { failure: { code: "session_ended", message } };
  }
  const refused = session.refused.find((known) => known.runId === runId);
  if (refused === undefined) return null;
  return { failure: { code: refused.code, message: refused.message } };
}

function endOf(entries: Parameters<typeof replay>[0]): Answered {
  const { end, cancellation } = replay(entries);
  switch (end?.status) {
    case "succeeded":
      return { output: end.output, isSent: isAnswerSent(entries, end.output) };
    case "failed":
    case "dead":
      return { failure: end.failure };
    default: {
      const reason = cancellation?.reason ?? "no reason was given";
      return { failure: { code: "cancelled", message: `the run was cancelled: ${reason}` } };
    }
  }
}
