import { failuresOf } from "@switchyard/contracts/errors";
import { fileText, type FileFacts } from "@switchyard/contracts/toolbox/file-access";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import {
  builtinTimeoutMs,
  callBuiltin as contract,
  type BuiltinName,
} from "@switchyard/contracts/toolbox/toolbox";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import type { CallOutcome } from "@switchyard/tool-provider/call-store";
import type { PolicyGate, Question, Requester } from "@switchyard/tool-provider/policy-gate";
import { senderOf } from "./run-sender.ts";
import { memoryOf } from "../memory/memory-store.ts";
import { ToolError } from "../tool-error.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { Workspaces } from "../workspace/workspaces.ts";

export interface RunToolDeps {
  readonly workspaces: Workspaces;
  readonly gate: Pick<PolicyGate, "check">;
  readonly stopping: AbortSignal;
  readonly now: () => number;
}

export interface ToolRun {
  readonly tool: Tool;
  readonly args: Record<string, unknown>;
  readonly principal: Principal;
  /** Its signal aborts when the call is cancelled, when an administrator stops it, and when its caller is gone. */
  readonly call: Pick<CallInWork, "callId" | "signal" | "isCancelled" | "requester">;
  /** Epoch milliseconds at which the caller stops waiting. */
  readonly deadline: number;
}

/** The time for the reply to reach the caller before the caller's timeout. */
const REPLY_MARGIN_MS = 100;

const fail = failuresOf(contract.errors);

/**
 * Runs an allowed call in its workspace. A failure of the tool is a result with `isError`, for the model to read. Throws
 * `cancelled` or `tool_timeout` for a call that was stopped during its run.
 */
export async function runTool(deps: RunToolDeps, run: ToolRun): Promise<CallOutcome> {
  const { tool, args, principal, deadline } = run;
  const { workspaces, stopping, now } = deps;
  const startedAt = performance.now();
  // A caller with a deadline of an hour may not hold a slot for that long.
  const waitsMs = Math.min(deadline - now(), builtinTimeoutMs(tool.name, args));
  const timeLeftMs = Math.max(1, waitsMs - REPLY_MARGIN_MS);
  const over = AbortSignal.timeout(timeLeftMs);
  const signal = AbortSignal.any([run.call.signal, over, stopping]);
  let result: ToolResult | ToolError;
  try {
    const workspace = await workspaces.of(principal);
    const caller = principal.user;
    const memory = memoryOf(principal);
    const { session = null, chat = null } = principal.context ?? {};
    const { userToken, correlationId } = run.call.requester;
    const { callId } = run.call;
    const { runId } = principal;
    const { token } = run.call.requester;
    const sender = token === undefined ? null : senderOf(principal, token);
    const who = { caller, callId, runId, chat, sender, session, userToken, correlationId };
    const otherwise = {
      denialOf: async (name: BuiltinName, asked: Record<string, unknown>) =>
        denialOf(deps, { ref: builtinToolRef(name), args: asked }, run.call.requester),
      attachmentDenial: async (file: FileFacts) => attachmentDenial(deps, file, run.call.requester),
      workspaceOfNewRun: (newRun: string) => workspaces.ofNewRun({ user: caller, runId: newRun }),
    };
    const limits = { timeLeftMs, signal };
    result = await tool.run(args, { workspace, ...who, memory, ...otherwise, ...limits });
  } catch (error) {
    if (error instanceof ToolError) result = error;
    else if (signal.aborted) throw stopped(run, timeLeftMs);
    else throw error;
  }
  // A command that was ended by the abort has a result, which must not pass for its own end.
  if (run.call.signal.aborted) throw stopped(run, timeLeftMs);
  return outcomeOf(result, performance.now() - startedAt);
}

/** A slot that a budget reserves for it stays taken: it counts like a call. */
async function denialOf(
  { gate }: RunToolDeps,
  question: Question,
  requester: Requester,
): Promise<string | null> {
  const { onReserved: _, ...asking } = requester;
  const { decision } = await gate.check(question, asking);
  if (decision.effect !== "deny") return null;
  return `The policy denies ${question.ref.name}: ${decision.reason}`;
}

/** An attachment that needs an approval is denied: a person can approve calls alone. */
async function attachmentDenial(
  { gate }: RunToolDeps,
  { name, mediaType, sizeBytes }: FileFacts,
  requester: Requester,
): Promise<string | null> {
  const { onReserved: _, ...asking } = requester;
  const question = { ref: builtinToolRef("attach_file"), args: { name, mediaType, sizeBytes } };
  const { effect, reason } = (await gate.check(question, asking)).decision;
  if (effect === "allow") return null;
  const why = effect === "deny" ? reason : `${reason}, and a file can get no approval`;
  return `The policy denies the file ${fileText({ name, mediaType, sizeBytes })}: ${why}`;
}

function outcomeOf(result: ToolResult | ToolError, durationMs: number): CallOutcome {
  if (result instanceof ToolError) {
    const text = `Error: ${result.message}`;
    return { kind: "result", result: { ...textual(text), isError: true, durationMs } };
  }
  const { text, structured } = result;
  const structuredContent = structured;
  return {
    kind: "result",
    result: { ...textual(text), structuredContent, isError: false, durationMs },
  };
}

function textual(text: string) {
  return { content: [{ type: "text", text }], text };
}

function stopped({ call: { callId, isCancelled }, tool }: ToolRun, timeoutMs: number) {
  if (callId !== undefined && isCancelled)
    return fail.cancelled(`The call of ${tool.name} was cancelled; what it had done stays done.`, {
      callId,
      sent: true,
    });
  return fail.tool_timeout(
    `${tool.name} was stopped after ${Math.round(timeoutMs)} ms at most, because its caller or this service waits no longer; what it had done stays done.`,
    { timeoutMs },
  );
}
