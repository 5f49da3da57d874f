import type { SessionUpdate, ToolKind } from "@agentclientprotocol/sdk";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import {
  toolCompleted,
  toolDenied,
  toolFailed,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { payloadOf } from "../run-timeline.ts";

/** Editors show an icon by a call's kind. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: "read",
  list_files: "read",
  search_files: "search",
  write_file: "edit",
  edit_file: "edit",
  web_fetch: "fetch",
  execute_command: "execute",
};

/** The card of a call, or what has become of it; null for an event about something else. */
export function toolCardOf(event: StoredEvent): SessionUpdate | null {
  const requested = payloadOf(event, toolRequested);
  if (requested !== null) {
    const { callId, tool, argsPreview } = requested;
    const kind = KINDS[tool] ?? "other";
    const rawInput = argumentsOf(argsPreview);
    return {
      sessionUpdate: "tool_call",
      toolCallId: callId,
      title: tool,
      kind,
      status: "pending",
      rawInput,
    };
  }
  const completed = payloadOf(event, toolCompleted);
  if (completed !== null)
    return ended(completed.callId, { isError: completed.isError, text: completed.preview });
  const denied = payloadOf(event, toolDenied);
  if (denied !== null)
    return ended(denied.callId, { isError: true, text: `denied: ${denied.decision.reason}` });
  const failed = payloadOf(event, toolFailed);
  if (failed === null) return null;
  return ended(failed.callId, { isError: true, text: `${failed.code}: ${failed.message}` });
}

function ended(
  toolCallId: string,
  { isError, text }: { readonly isError: boolean; readonly text: string },
): SessionUpdate {
  return {
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: isError ? "failed" : "completed",
    content: [{ type: "content", content: { type: "text", text } }],
  };
}

/** The preview may be cut, and is not valid JSON then. */
function argumentsOf(preview: string): unknown {
  try {
    return JSON.parse(preview);
  } catch {
    return { preview };
  }
}
