import {
  type CallContext,
  MAX_PRECEDING_CALLS,
  type PrecedingCall,
} from "@switchyard/contracts/agent-runner/call-context";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { redactFields } from "@switchyard/service/redact";
import { visible } from "@switchyard/service/visible-text";
import { shownText } from "./event-facts.ts";
import { textOf } from "./next-action.ts";
import type { CallState, RunState } from "./run-state.ts";

const TEXT_BYTES = 4_096;
const PREVIEW_BYTES = 1_024;

/** Returns the part of a run that is shown to the person who decides about one of its calls; null when the run has no such call. */
export function callContextOf(
  { started, turns }: Pick<RunState, "started" | "turns">,
  callId: string,
): CallContext | null {
  const at = turns.findIndex(({ calls }) => calls.some(({ part }) => part.callId === callId));
  if (at === -1) return null;
  const upToCall = turns.slice(0, at + 1);
  const others = upToCall
    .flatMap(({ calls }) => calls)
    .filter(({ part }) => part.callId !== callId);
  const { agent, requester, input } = started;
  return {
    agent,
    requester,
    input: shown(
      typeof input === "string" ? input : canonicalJson(redactFields(input)),
      TEXT_BYTES,
    ),
    modelText: shown(
      upToCall.map(({ content }) => textOf(content).trim()).findLast((text) => text !== "") ?? "",
      TEXT_BYTES,
    ),
    calls: others.slice(-MAX_PRECEDING_CALLS).map(precedingCall),
    earlierCalls: Math.max(0, others.length - MAX_PRECEDING_CALLS),
  };
}

function precedingCall({ part, result }: CallState): PrecedingCall {
  const { tool, input } = part;
  return {
    tool: shown(tool, PREVIEW_BYTES),
    argsPreview: shown(canonicalJson(redactFields(input)), PREVIEW_BYTES),
    outcome: result === null ? "open" : result.isError ? "error" : "done",
    preview: shown(result?.text ?? "", PREVIEW_BYTES),
  };
}

function shown(text: string, limitBytes: number): string {
  const isCut = Buffer.byteLength(text) > limitBytes;
  return `${visible(shownText(text, limitBytes))}${isCut ? "…" : ""}`;
}
