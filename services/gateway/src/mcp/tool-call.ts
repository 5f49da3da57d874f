import type { ServerContext } from "@modelcontextprotocol/server";
import type { Log } from "@switchyard/service/log";
import type { FollowParts } from "../agent-runs/follow-run.ts";
import type { Requester } from "../identity/requester.ts";
import type { ClientAbilities } from "./mcp-request.ts";
import type { PendingCalls } from "./pending-calls.ts";

export interface McpParts extends FollowParts {
  readonly log: Log;
  /** True once the gateway stops: then the end of a request is not a cancellation by its client. */
  readonly isStopping: () => boolean;
  readonly calls: PendingCalls;
}

/** The facts of a request that calls of tools need. */
export interface CallContext {
  /** Undefined for a request of 2026-07-28, which has no session. */
  readonly sessionId?: string | undefined;
  readonly mcpReq: Pick<
    ServerContext["mcpReq"],
    "_meta" | "inputResponses" | "notify" | "requestState" | "signal"
  >;
}

/** A `tools/call` with its sender and the client's capabilities. */
export interface ToolCall {
  readonly parts: McpParts;
  readonly requester: Requester;
  readonly context: CallContext;
  readonly abilities: ClientAbilities;
  readonly args: Readonly<Record<string, unknown>>;
  readonly onFault: (error: unknown) => void;
}

/** Returns the client's progress token; undefined when it did not request progress. */
export function progressTokenOf(request: CallContext["mcpReq"]): string | number | undefined {
  // oxlint-disable-next-line no-underscore-dangle -- the protocol's own name
  return request._meta?.progressToken;
}

/** Sends progress notifications if the client requested them. Numbers only increase, as the protocol requires. */
export function progressOf({
  mcpReq,
}: CallContext): (
  message: string | null,
  numbers?: { readonly progress: number; readonly total: number | null },
) => void {
  const progressToken = progressTokenOf(mcpReq);
  let last = 0;
  return (message, numbers) => {
    if (progressToken === undefined) return;
    last = Math.max(numbers?.progress ?? 0, numbers === undefined ? last + 1 : last);
    const total = numbers?.total ?? null;
    const params = {
      progressToken,
      progress: last,
      ...(total !== null && { total }),
      ...(message !== null && { message }),
    };
    // The client may have disconnected, and then the notification is dropped.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
}
