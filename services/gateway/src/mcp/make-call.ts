import { randomUUID } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { subscribeLive } from "@switchyard/bus/events";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { clientStructuredContent } from "@switchyard/contracts/mcp-broker/client-tool";
import { knownContent } from "@switchyard/contracts/mcp-broker/content-blocks";
import { callTool, ownCallMeta, type ContentBlock } from "@switchyard/contracts/mcp-broker/mcp";
import { callProgress, cancelCall, SINGLE_USE } from "@switchyard/contracts/mcp-broker/mcp-calls";
import {
  answerQuestion,
  howToAnswer,
  listQuestions,
  type Question,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import {
  builtinTimeoutMs,
  callBuiltin,
  cancelBuiltin,
} from "@switchyard/contracts/toolbox/toolbox";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import {
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import { checkRights, type Requester } from "../identity/requester.ts";
import { addressOf } from "./catalogue.ts";
import { errorResult } from "./mcp-errors.ts";
import type { PendingCall, Step } from "./pending-calls.ts";
import { questionForm } from "./question-form.ts";
import { progressOf, progressTokenOf, type ToolCall } from "./tool-call.ts";

export type Answer = CallToolResult | InputRequiredResult;

/** The key of a server's question among a result's input requests. */
export const QUESTION = "question";

/** A tool of an MCP server, or a built-in one (`server` null). */
export interface ProviderTool {
  readonly server: string | null;
  readonly tool: string;
  /** True in the catalogue of all servers, where addresses of resources start with the server. */
  readonly isOfAll: boolean;
}

/**
 * Returns the id of a call. The client's next request after a question may reach another replica, or this one without a record
 * of the call: then the broker's record must have the id.
 */
export function callIdFor(tool: ProviderTool, request: ToolCall): string {
  const { abilities, context } = request;
  const known = request.parts.calls.parkedId(sameAs(tool, request));
  if (known !== null) return known;
  const isKept = abilities.forms && context.sessionId === undefined;
  return `${isKept ? "" : SINGLE_USE}mcp-${randomUUID()}`;
}

function sameAs({ server, tool }: ProviderTool, { requester, args }: ToolCall) {
  return { caller: requester.caller, same: () => canonicalDigest([server, tool, args]) };
}

/**
 * Makes a call, or waits for the one with this id that is under way; resolves with its result or with the question that its
 * server asks first.
 */
export async function callOnce(
  { server, tool, isOfAll }: ProviderTool,
  callId: string,
  request: ToolCall,
): Promise<Answer> {
  const { requester, args, context, parts } = request;
  const era = context.sessionId === undefined ? "modern" : "legacy";
  if (server !== null) {
    const about = { server, tool, isOfAll };
    const known = parts.calls.find({ caller: requester.caller, callId });
    const pending = known ?? (await beginToolCall(about, callId, request));
    const open = known?.open ?? null;
    if (open !== null) {
      const question = await questionWithId(requester, open.id);
      if (question !== null) return questionOf(question, { callId, request });
      pending.resume();
    }
    return stepOf(about, { pending, callId }, request);
  }
  const { signal } = context.mcpReq;
  const user = await requester.user();
  checkRights(callBuiltin, user);
  const about = { userToken: user.token, correlationId: requester.requestId, signal };
  const stop = cancelWhenAborted(null, callId, request);
  try {
    const options = { ...about, timeoutMs: builtinTimeoutMs(tool, args) };
    const reply = await call(parts.bus, callBuiltin, { tool, args, callId }, options);
    return resultOf(reply, { server: null, era });
  } finally {
    stop();
  }
}

/** A tool of an MCP server. */
type ServerTool = ProviderTool & { readonly server: string };

async function beginToolCall(
  { server, tool, isOfAll }: ServerTool,
  callId: string,
  request: ToolCall,
): Promise<PendingCall> {
  const { requester, args, context, parts } = request;
  const { bus } = parts;
  const user = await requester.user();
  checkRights(callTool, user);
  // oxlint-disable-next-line no-underscore-dangle -- the protocol's own name
  const meta = ownCallMeta(context.mcpReq._meta);
  const progress = progressTokenOf(context.mcpReq) === undefined ? undefined : randomUUID();
  const message = {
    tool,
    args,
    callId,
    ...(meta !== undefined && { _meta: meta }),
    ...(progress !== undefined && { progress }),
  };
  const identity = { ...sameAs({ server, tool, isOfAll }, request), callId, server };
  const send = async (limits: { readonly signal: AbortSignal; readonly timeoutMs: number }) => {
    const about = { userToken: user.token, correlationId: requester.requestId };
    const live =
      progress === undefined ? null : followProgress({ bus, context }, requester.caller, progress);
    try {
      return await callMcpTool(bus, message, { ...about, ...limits, tokens: { server } });
    } finally {
      live?.stop();
    }
  };
  const cancel = () => cancelAtProvider(server, callId, requester);
  return parts.calls.begin(identity, { send, cancel });
}

function followProgress(
  { bus, context }: { readonly bus: Bus; readonly context: ToolCall["context"] },
  owner: string,
  progressId: string,
): { stop(): void } {
  const reportProgress = progressOf(context);
  return subscribeLive(bus, callProgress, { owner, progressId }, (progress) =>
    reportProgress(progress.message, progress),
  );
}

/** Resolves with the result of a call that is under way, or the question that its server asks first. */
async function stepOf(
  { server, isOfAll }: ServerTool,
  { pending, callId }: { readonly pending: PendingCall; readonly callId: string },
  request: ToolCall,
): Promise<Answer> {
  const era = request.context.sessionId === undefined ? "modern" : "legacy";
  const stop = cancelWhenAborted(server, callId, request, () => pending.abandon());
  let step: Step | null = null;
  try {
    step = await pending.next();
    if (step.kind === "question") return questionOf(step.question, { callId, request });
    return resultOf(step.reply, { server: isOfAll ? server : null, era });
  } finally {
    // In a session the request stays open while its client answers the question.
    if (era === "modern" || step?.kind !== "question") stop();
  }
}

export function questionOf(
  question: Question,
  { callId, request }: { readonly callId: string; readonly request: ToolCall },
  problem: string | null = null,
): Answer {
  const { requester, abilities } = request;
  if (question.form === null || !abilities.forms || !requester.may(answerQuestion))
    return parked(question, { callId, request });
  return inputRequired({
    inputRequests: { [QUESTION]: questionForm(question, question.form, problem) },
    requestState: `${callId} ${question.id}`,
  });
}

/** Returns the result for a client that cannot prompt its person: the call waits, and a repeat of the same call gets its result. */
function parked(
  question: Question,
  {
    callId,
    request: { parts, requester },
  }: { readonly callId: string; readonly request: ToolCall },
): CallToolResult {
  parts.calls.find({ caller: requester.caller, callId })?.park();
  return errorResult("question_pending", howToAnswer(question));
}

/** Returns the question while it waits for an answer; null once it has ended. */
export async function questionWithId(requester: Requester, id: string): Promise<Question | null> {
  if (!requester.may(listQuestions)) return null;
  const { questions } = await requester.ask(listQuestions, { pendingOnly: true });
  return questions.find((question) => question.id === id) ?? null;
}

/** A client that aborts a request wants the call cancelled; a gateway that stops does not. */
function cancelWhenAborted(
  server: string | null,
  callId: string,
  { requester, context, parts }: ToolCall,
  abandon: () => void = () => {},
): () => void {
  const { signal } = context.mcpReq;
  const cancel = (): void => {
    abandon();
    if (!parts.isStopping()) cancelAtProvider(server, callId, requester);
  };
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  return () => signal.removeEventListener("abort", cancel);
}

function cancelAtProvider(server: string | null, callId: string, requester: Requester): void {
  const asked =
    server === null
      ? requester.ask(cancelBuiltin, { callId })
      : requester.ask(cancelCall, { callId }, { tokens: { server } });
  asked.catch(() => {}); // A question that cannot be cancelled expires by its own time limit.
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
  // Blocks of unknown types are converted: a client that refuses the result would repeat the call.
  const content = knownContent(reply.content).map((block) => addressed(block, server));
  return {
    content,
    ...clientStructuredContent(structuredContent, era),
    ...(meta !== undefined && { _meta: meta }),
    ...(failed && { isError: true }),
  } as CallToolResult; // The blocks have the protocol's types.
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
