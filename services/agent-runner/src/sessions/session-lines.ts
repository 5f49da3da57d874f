import { filesOf, inputText } from "@switchyard/contracts/input-text";
import type { SessionMessage } from "@switchyard/contracts/sessions";
import { redactText } from "@switchyard/service/redact";
import type { RunState } from "../core/run-state.ts";
import { cutBytes } from "@switchyard/contracts/cut-text";
import type { Told } from "./transitions.ts";

/** Of one line of the history; what follows is cut off. */
const MAX_TEXT_BYTES = 32 * 1_024;
const MAX_TOOL_BYTES = 1_024;
/** Of one run; the answer counts more than how it came about. */
const MAX_TOOL_LINES = 32;
const CUT_MARK = "…(truncated)…";

/**
 * What the history of a session gets from a run that has ended: what it was asked, what it was told
 * meanwhile, what its tools answered, and its answer or why there is none. It follows from the
 * journal alone. Of a run that was retried only what came since is told.
 */
export function linesOf(state: RunState, known: Told | null): SessionMessage[] {
  const { started, messages, turns } = state;
  const { requester } = started;
  const asked = isTooLong(state) ? cutBytes(askedOf(started), MAX_TOOL_BYTES) : askedOf(started);
  const files = isTooLong(state) ? [] : filesOf(started.input);
  const question = {
    ...line(state, { role: "user", text: asked, by: requester }),
    ...(files.length === 0 ? {} : { files }),
  };
  const heard = messages
    .slice(known?.messages ?? 0)
    .filter(({ by }) => by !== "runner")
    .map(({ at, by, text }) => line(state, { at, role: "user", text, by }));
  const results = turns
    .slice(known?.turns ?? 0)
    .flatMap(({ calls }) => calls)
    .flatMap(({ part: { tool }, result }) =>
      result === null ? [] : [line(state, { role: "tool", tool, ...result })],
    )
    .slice(-MAX_TOOL_LINES);
  return [
    ...(known === null ? [{ ...question, at: started.at }] : []),
    ...heard,
    ...results,
    line(state, { role: roleOfEnd(state), text: endOf(state) }),
  ];
}

/** The first part of how a run ended, without credentials. */
export function previewOf(state: RunState): string {
  return cutBytes(redactText(endOf(state)), 1_024);
}

function line(
  { started, updatedAt }: RunState,
  said: Pick<SessionMessage, "role" | "text" | "by" | "tool" | "isError"> & { at?: string },
): SessionMessage {
  const limit = said.role === "tool" ? MAX_TOOL_BYTES : MAX_TEXT_BYTES;
  return { at: updatedAt, ...said, runId: started.runId, ...keptText(said.text, limit) };
}

/** A text as a line of the history has it: without credentials, and not longer than a line may be. */
export function keptText(
  text: string,
  limit = MAX_TEXT_BYTES,
): Pick<SessionMessage, "text" | "truncated" | "redacted"> {
  // Before the cut, so that no half of a secret stays at the end.
  const clean = redactText(text);
  const cut = cutBytes(clean, limit);
  const isCut = cut.length < clean.length;
  return {
    text: isCut ? cut + CUT_MARK : cut,
    ...(isCut ? { truncated: true } : {}),
    ...(clean === text ? {} : { redacted: true }),
  };
}

/** A message that fits into no request would make each later one of the session too long, too. */
function isTooLong({ end }: RunState): boolean {
  return end?.status === "failed" && end.failure.code === "context_too_long";
}

function roleOfEnd({ end }: RunState): "assistant" | "notice" {
  return end?.status === "succeeded" ? "assistant" : "notice";
}

function endOf({ end, cancellation }: RunState): string {
  switch (end?.status) {
    case "succeeded":
      return end.output;
    case "failed":
    case "dead":
      return `there was no answer: the run ended with ${end.failure.code}: ${end.failure.message}`;
    case "cancelled": {
      const reason = cancellation?.reason ?? null;
      const why = reason === null ? "" : `: ${reason}`;
      return `there was no answer: the run was cancelled by ${cancellation?.by ?? "somebody"}${why}`;
    }
    default:
      throw new TypeError("only a run that has ended has an end to tell");
  }
}

/** A skill that was asked for is told as it is typed. */
function askedOf({ input, invoked }: RunState["started"]): string {
  const text = inputText(input);
  return invoked === undefined ? text : `/${invoked} ${text}`.trimEnd();
}
