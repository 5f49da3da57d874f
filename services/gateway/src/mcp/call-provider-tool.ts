import { randomUUID } from "node:crypto";
import { call } from "@switchyard/bus/call";
import { subscribeLive } from "@switchyard/bus/events";
import {
  cancelApproval,
  approveCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/approvals";
import { ApprovalRequired } from "@switchyard/contracts/approval-record";
import { clientStructuredContent } from "@switchyard/contracts/client-tool";
import { knownContent } from "@switchyard/contracts/content-blocks";
import { isError } from "@switchyard/contracts/errors";
import { callTool, ownCallMeta, type ContentBlock } from "@switchyard/contracts/mcp";
import { callProgress, cancelCall, SINGLE_USE } from "@switchyard/contracts/mcp-calls";
import { callBuiltin, cancelBuiltin } from "@switchyard/contracts/toolbox";
import { builtinTimeoutMs } from "@switchyard/contracts/toolbox";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import {
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import { howToApprove } from "../agent-runs/run-wait.ts";
import { checkRights } from "../identity/requester.ts";
import { approvalForm, decide, type ShownCall } from "./approval-form.ts";
import { addressOf } from "./catalogue.ts";
import { errorResult, failedCall, unknownTool } from "./mcp-errors.ts";
import { relayQuestions } from "./relay-questions.ts";
import { progressOf, progressTokenOf, type ToolCall } from "./tool-call.ts";

/** A tool of an MCP server, or a built-in one (`server` null). */
export interface ProviderTool {
  readonly server: string | null;
  readonly tool: string;
  /** True where addresses of resources have the server in front. */
  readonly isOfAll: boolean;
}

const CALL_ID = /^(?:once:)?mcp-[0-9a-f-]{36}$/;
const FORM = "approval";

/**
 * Calls a tool as the requester. A call that needs an approval is asked of the client's person where the client can do that and
 * the requester may decide; else it stays parked, the result says how to decide, and the same call made again finds what was decided.
 */
export async function callProviderTool(
  tool: ProviderTool,
  request: ToolCall,
): Promise<CallToolResult | InputRequiredResult> {
  const { requester, context, abilities } = request;
  const state = stateOf(context.mcpReq.requestState());
  try {
    if (state !== null) {
      const responses = context.mcpReq.inputResponses ?? {};
      const why = await decide(requester, state, { responses, key: FORM });
      if (why !== null) return errorResult("approval_required", why);
    }
    const callId = state?.callId ?? `${SINGLE_USE}mcp-${randomUUID()}`;
    const first = await callOrWait(tool, callId, request);
    if (!isWaiting(first)) return first;
    const earlier = state === null ? await earlierOf(first, request) : null;
    const next =
      earlier?.isApproved === true ? await callOrWait(tool, earlier.callId, request) : first;
    if (!isWaiting(next)) return next;
    const waiting = earlier?.isApproved === false ? { ...next, ...earlier } : next;
    if (abilities.forms && requester.may(approveCall)) {
      const { form, binding } = await approvalForm(requester, waiting.approvalId);
      return inputRequired({
        inputRequests: { [FORM]: form },
        requestState: `${waiting.callId} ${waiting.approvalId} ${binding}`,
      });
    }
    return errorResult(
      "approval_required",
      `nothing was done: the call waits until ${waiting.expiresAt} for a person. ${howToApprove(waiting.approvalId)}. Then make the same call again.`,
    );
  } catch (error) {
    if (isError(error, callTool, "unknown_tool") || isError(error, callBuiltin, "unknown_tool"))
      throw unknownTool(tool.tool);
    return failedCall(error, request.onFault);
  }
}

interface Waiting {
  readonly approvalId: string;
  readonly callId: string;
  readonly expiresAt: string;
}

function isWaiting(answer: CallToolResult | Waiting): answer is Waiting {
  return typeof answer["approvalId"] === "string";
}

async function callOrWait(
  tool: ProviderTool,
  callId: string,
  request: ToolCall,
): Promise<CallToolResult | Waiting> {
  try {
    return await callOnce(tool, callId, request);
  } catch (error) {
    if (
      !isError(error, callTool, "approval_required") &&
      !isError(error, callBuiltin, "approval_required")
    )
      throw error;
    const { approvalId, expiresAt } = ApprovalRequired.parse(error.data);
    return { approvalId, callId, expiresAt };
  }
}

async function callOnce(
  { server, tool, isOfAll }: ProviderTool,
  callId: string,
  request: ToolCall,
): Promise<CallToolResult> {
  const { requester, args, context, parts } = request;
  const era = context.sessionId === undefined ? "modern" : "legacy";
  const { bus } = parts;
  const { signal } = context.mcpReq;
  const user = await requester.user();
  checkRights(server === null ? callBuiltin : callTool, user);
  const about = { userToken: user.token, correlationId: requester.requestId, signal };
  const stops = [cancelWhenAborted(server, callId, request)];
  try {
    if (server === null) {
      const options = { ...about, timeoutMs: builtinTimeoutMs(tool, args) };
      const reply = await call(bus, callBuiltin, { tool, args, callId }, options);
      return resultOf(reply, { server: null, era });
    }
    const progress = progressTokenOf(context.mcpReq) === undefined ? undefined : randomUUID();
    if (progress !== undefined) {
      const tell = progressOf(context);
      const to = { owner: requester.caller, progressId: progress };
      const live = subscribeLive(bus, callProgress, to, (told) => tell(told.message, told));
      stops.push(() => live.stop());
    }
    stops.push(relayQuestions(server, request));
    // oxlint-disable-next-line no-underscore-dangle -- the protocol's own name
    const meta = ownCallMeta(context.mcpReq._meta);
    const message = {
      tool,
      args,
      callId,
      ...(meta !== undefined && { _meta: meta }),
      ...(progress !== undefined && { progress }),
    };
    const reply = await callMcpTool(bus, message, { ...about, tokens: { server } });
    return resultOf(reply, { server: isOfAll ? server : null, era });
  } finally {
    for (const stop of stops) stop();
  }
}

/** A client that gives a call up wants it ended; a gateway that stops does not. */
function cancelWhenAborted(
  server: string | null,
  callId: string,
  { requester, context, parts }: ToolCall,
): () => void {
  const { signal } = context.mcpReq;
  const cancel = (): void => {
    if (parts.isStopping()) return;
    const asked =
      server === null
        ? requester.ask(cancelBuiltin, { callId })
        : requester.ask(cancelCall, { callId }, { tokens: { server } });
    asked.catch(() => {}); // it ends by its own time limit
  };
  signal.addEventListener("abort", cancel, { once: true });
  return () => signal.removeEventListener("abort", cancel);
}

/** An approval of exactly this call that was asked for before, by a client that cannot carry on a call. The new one is taken back. */
async function earlierOf(
  { approvalId }: Waiting,
  { requester }: ToolCall,
): Promise<(Waiting & { readonly isApproved: boolean }) | null> {
  const { approval } = await requester.ask(getApproval, { id: approvalId });
  const { approvals } = await requester.ask(listApprovals, { pendingOnly: false, limit: 100 });
  const earlier = approvals.find(
    ({ id, binding, state, callId }) =>
      id !== approvalId &&
      binding === approval.binding &&
      (state === "approved" || state === "pending") &&
      CALL_ID.test(callId ?? ""),
  );
  if (earlier === undefined) return null;
  await requester.ask(cancelApproval, { id: approvalId }).catch(() => {}); // it ends by its own time limit
  const { id, callId, expiresAt, state } = earlier;
  return { approvalId: id, callId: callId ?? "", expiresAt, isApproved: state === "approved" };
}

/** What a client sends back is no proof of anything: approvals and calls are bound to their caller and arguments. */
function stateOf(state: unknown): (ShownCall & { readonly callId: string }) | null {
  if (typeof state !== "string") return null;
  const [callId = "", approvalId = "", binding] = state.split(" ");
  return CALL_ID.test(callId) && /^apr-[0-9a-f]{32}$/.test(approvalId)
    ? { callId, approvalId, binding }
    : null;
}

interface Result {
  readonly content: readonly { readonly type: string }[];
  readonly structuredContent?: unknown;
  readonly _meta?: unknown;
  readonly isError: boolean;
}

function resultOf(
  reply: Result,
  { server, era }: { readonly server: string | null; readonly era: "legacy" | "modern" },
): CallToolResult {
  const { structuredContent, _meta: meta, isError: failed } = reply;
  // A result that clients refuse would be a call that they make again.
  const content = knownContent(reply.content).map((block) => addressed(block, server));
  return {
    content,
    ...clientStructuredContent(structuredContent, era),
    ...(meta !== undefined && { _meta: meta }),
    ...(failed && { isError: true }),
  } as CallToolResult; // its blocks are of the protocol's types
}

function addressed(block: ContentBlock, server: string | null): ContentBlock {
  if (server === null) return block;
  if (block.type === "resource_link")
    return { ...block, uri: addressOf(server, String(block["uri"])) };
  const { resource } = block;
  if (block.type !== "resource" || typeof resource !== "object" || resource === null) return block;
  const uri = "uri" in resource ? addressOf(server, String(resource.uri)) : undefined;
  return { ...block, resource: { ...resource, uri } };
}
