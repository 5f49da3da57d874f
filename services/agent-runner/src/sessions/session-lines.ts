import { filesOf, inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { SessionMessage } from "@switchyard/contracts/agent-runner/sessions";
import { redactText } from "@switchyard/service/redact";
import type { RunState } from "../core/run-state.ts";
import { cutBytes } from "@switchyard/contracts/cut-text";
import type { RecordedPart } from "./transitions.ts";
import type { SaidBefore } from "../core/started-entry.ts";

/** The limit for one line of the history; the rest is cut off. */
const MAX_TEXT_BYTES = 32 * 1_024;
const MAX_TOOL_BYTES = 1_024;
/** The limit for one run; the answer matters more than the tool results that led to it. */
const MAX_TOOL_LINES = 32;
const CUT_MARK = "…(truncated)…";

/**
 * Returns the lines that a run which has ended adds to the history of its session: its question, the messages that it received
 * meanwhile, the results of its tools, and its answer or why there is none. They follow from the journal alone. A run that was
 * retried adds only the lines since.
 */
export function linesOf(state: RunState, known: RecordedPart | null): SessionMessage[] {
  const { started, messages, turns } = state;
  const { requester } = started;
  const asked = isTooLong(state) ? cutBytes(askedOf(started), MAX_TOOL_BYTES) : askedOf(started);
  const files = isTooLong(state) ? [] : filesOf(started.input);
  const question = {
    ...line(state, { role: "user", text: asked, by: requester }),
    ...(files.length === 0 ? {} : { files }),
  };
  const received = messages
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
    ...received,
    ...results,
    line(state, { role: roleOfEnd(state), text: endOf(state), agent: started.agent }),
  ];
}

/** The beginning of a run's answer or failure, without credentials. */
export function previewOf(state: RunState): string {
  return cutBytes(redactText(endOf(state)), 1_024);
}

function line(
  { started, updatedAt }: RunState,
  said: Pick<SessionMessage, "role" | "text" | "by" | "agent" | "tool" | "isError"> & {
    at?: string;
  },
): SessionMessage {
  const limit = said.role === "tool" ? MAX_TOOL_BYTES : MAX_TEXT_BYTES;
  return { at: updatedAt, ...said, runId: started.runId, ...keptText(said.text, limit) };
}

/** Prepares a text for a line of the history: without credentials, and cut to the size limit of a line. */
export function keptText(
  text: string,
  limit = MAX_TEXT_BYTES,
): Pick<SessionMessage, "text" | "truncated" | "redacted"> {
  // Redacted before the cut, so that no half of a secret stays at the end.
  const clean = redactText(text);
  const cut = cutBytes(clean, limit);
  const isCut = cut.length < clean.length;
  return {
    text: isCut ? cut + CUT_MARK : cut,
    ...(isCut ? { truncated: true } : {}),
    ...(clean === text ? {} : { redacted: true }),
  };
}

/**
 * True when the run failed because its request was too long: its whole message in the history would make each later request of
 * the session too long, too.
 */
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
      throw new TypeError("only a run that has ended has an end");
  }
}

/** The input of a run; an invoked skill is shown as it is typed. */
function askedOf({ input, invoked }: RunState["started"]): string {
  const text = inputText(input);
  return invoked === undefined ? text : `/${invoked} ${text}`.trimEnd();
}

/**
 * Selects the part of a history that a run is given: the latest texts of people and agents, within a number of bytes, beginning
 * with a user's message or a notice, which a model reads as a user's. Results of tools are left out.
 */
export function contextOf(
  history: readonly Pick<SessionMessage, "role" | "text" | "files">[],
  maxBytes: number,
): SaidBefore[] {
  const said: SaidBefore[] = [];
  let bytes = 0;
  for (const { role, text, files } of history.toReversed()) {
    if (role === "tool") continue;
    bytes += Buffer.byteLength(text);
    if (bytes > maxBytes) break;
    said.push({ role, text, ...(files === undefined ? {} : { files }) });
  }
  const inOrder = said.toReversed();
  const first = inOrder.findIndex(({ role }) => role !== "assistant");
  return first < 0 ? [] : inOrder.slice(first);
}
