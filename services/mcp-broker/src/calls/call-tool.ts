import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract, ownCallMeta } from "@switchyard/contracts/mcp-broker/mcp";
import { SINGLE_USE, type CallProgress } from "@switchyard/contracts/mcp-broker/mcp-calls";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { ExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { type ApprovalGate, asAllowed } from "@switchyard/tool-provider/approval-gate";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import { NotSentError, type CallOnce, type Turn } from "@switchyard/tool-provider/call-once";
import { replyOf } from "@switchyard/tool-provider/call-refusals";
import type { CallOutcome, CallStore } from "@switchyard/tool-provider/call-store";
import { claimCall } from "@switchyard/tool-provider/claim-call";
import type { CallsInWork } from "@switchyard/tool-provider/calls-in-work";
import type { Decided } from "@switchyard/tool-provider/decision-cache";
import { executeCall } from "@switchyard/tool-provider/execute-call";
import type { MaskStore } from "@switchyard/tool-provider/mask-store";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { isRecord } from "@switchyard/contracts/json-record";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { PoolMember } from "../connection/pool-member.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import { lineLength } from "../connection/request-lane.ts";
import type { ToolResult } from "../normalise/tool-result.ts";
import { isShallow, jsonBytes } from "../json/json-value.ts";
import { coerceArguments } from "../validation/coerce-arguments.ts";
import { admitCall, checkResult, problemText } from "./call-checks.ts";
import { denied, findTool } from "./find-tool.ts";
import { createProgressReporter } from "./progress-reporter.ts";
import { resultText } from "./result-text.ts";
import { RequestFailedError, sendRequest, serverDown, type SendDeps } from "./send-request.ts";

type CallRequest = z.output<typeof contract.request>;
type CallReply = z.input<typeof contract.reply>;

/** The parts that every request uses on its way, whatever its server. */
export interface CallDeps {
  readonly pool: Pick<ServerPool, "route">;
  readonly gate: PolicyGate;
  readonly approvals: ApprovalGate;
  readonly executions: ExecutionAudit;
  /** The values behind masks in arguments and results. */
  readonly masks: MaskStore;
  readonly calls: CallsInWork;
  readonly claims: { readonly once: CallOnce; readonly store: CallStore };
  readonly sender: SendDeps;
  /** Publishes the progress of a call to its caller. */
  readonly publishProgress: (
    to: { readonly owner: string; readonly progressId: string },
    progress: CallProgress,
  ) => void;
}

/** A call that the policy allows, or lets a person decide about. */
interface BrokeredCall {
  readonly call: CallInWork;
  readonly request: CallRequest;
  readonly ref: ToolRef;
  /** Digest of the definition that the policy decided about. */
  readonly pin: string | undefined;
  readonly decided: Decided;
}

const fail = failuresOf(contract.errors);

/**
 * One tool call, from its name to its result: resolve → decide → claim → send → finish. The policy decides also before a stored
 * result is returned: it may have changed since.
 */
export async function callTool(
  deps: CallDeps,
  { member, request: given }: { readonly member: PoolMember; readonly request: CallRequest },
  requester: Requester,
): Promise<CallReply> {
  const { connection } = member;
  const { callId } = given;
  const call = deps.calls.begin({ requester, callId, server: connection.entry.id });
  let turn: Turn | null = null;
  try {
    await connection.start();
    call.refuseCancelled();
    const ref = await findTool(
      { gate: deps.gate, store: deps.claims.store },
      { connection, request: given },
      call.requester,
    );
    const tool = connection.catalogue.find(ref.name)?.inspected;
    const pin = tool?.pin;
    // Arguments are checked before the policy is called, because it decides about what is sent.
    const isCoerced = connection.entry.config?.validateArguments === "coerce";
    const args =
      isCoerced && tool !== undefined ? coerceArguments(given.args, tool.inputSchema) : given.args;
    const request = { ...given, args };

    const question = pin === undefined ? { ref, args } : { ref, args, pin };
    const decided = await deps.gate.check(question, call.requester);
    const { decision, principal } = decided;
    if (decision.effect === "deny") throw denied(ref, decision);
    call.refuseCancelled();

    const isKept = !isForgotten(connection, { callId, decided });
    const claimed = await claimCall(
      deps.claims,
      { request: isKept ? request : { ...request, callId: undefined }, ref, args },
      { requester, decided },
    );
    if (claimed.earlier !== null)
      return outcomeReply(claimed.earlier, { decision: asAllowed(decision), replayed: true });
    turn = claimed.turn;

    call.begin(principal, ref);
    const outcome = await makeCall(deps, member, { call, request, ref, pin, decided });
    await turn?.finish(outcome);
    turn = null;
    return outcomeReply(outcome, { decision: asAllowed(decision), replayed: false });
  } catch (error) {
    const failure = call.failureOf(error);
    await turn?.fail(failure);
    throw replyOf(failure);
  } finally {
    call.end();
  }
}

/**
 * True when no caller can request the call's result later. Where every broker serves the server, a cancellation finds the call by
 * its record.
 */
function isForgotten(
  { isStateless }: PoolMember["connection"],
  { callId, decided }: { callId: string | undefined; decided: Decided },
): boolean {
  const isSingle = callId?.startsWith(SINGLE_USE) ?? false;
  return isSingle && decided.decision.effect === "allow" && !isStateless;
}

/** The route is taken after the decision: it may start a process. */
function makeCall(deps: CallDeps, member: PoolMember, made: BrokeredCall): Promise<CallOutcome> {
  const { call, request, ref, pin, decided } = made;
  const { args, callId, approvalId } = request;
  return executeCall(
    deps,
    { call, ref, pin, args, callId, approvalId, decided },
    {
      checkBeforeApproval(sent) {
        const { session, catalogue } = member.connection;
        if (session === null) throw new NotSentError(serverDown(member.connection));
        admitCall(catalogue, { ref, pin, args: sent, isChecked: isChecked(member) });
      },
      decideAgain: (changed) => decideAgain(deps, member, { ...made, args: changed }),
      send: async (sent) =>
        sendTool(deps, await deps.pool.route(member, decided.principal), {
          ...made,
          request: { ...request, args: sent },
        }),
    },
  );
}

/** Decides about the arguments that an approver changed, as the tool takes them. */
async function decideAgain(
  { gate }: CallDeps,
  { connection }: PoolMember,
  { call, ref, pin, args: given }: BrokeredCall & { readonly args: Record<string, unknown> },
) {
  const schema = connection.catalogue.find(ref.name)?.inspected.inputSchema;
  const isCoerced = connection.entry.config?.validateArguments === "coerce";
  const args = isCoerced && schema !== undefined ? coerceArguments(given, schema) : given;
  const question = pin === undefined ? { ref, args } : { ref, args, pin };
  return { args, decided: await gate.check(question, call.requester) };
}

function isChecked({ connection }: PoolMember): boolean {
  return connection.entry.config?.validateArguments !== "off";
}

async function sendTool(
  deps: CallDeps,
  member: PoolMember,
  { call, request, ref, pin, decided }: BrokeredCall,
): Promise<CallOutcome> {
  const { connection } = member;
  const { args, progress: progressId } = request;
  // oxlint-disable-next-line no-underscore-dangle -- the protocol's own name
  const meta = ownCallMeta(request._meta);
  const progressListener = (redact: (text: string) => string) =>
    progressId === undefined
      ? undefined
      : createProgressReporter({
          call: { server: connection.entry.id, tool: ref.tool, callId: request.callId ?? null },
          publish: (progress) =>
            deps.publishProgress({ owner: decided.principal.user, progressId }, progress),
          redact,
          now: Date.now,
        });
  const { callId } = request;
  try {
    return await sendRequest(deps.sender, member, {
      call,
      what: "call tool",
      async send(session, limits) {
        const asked = { ref, pin, args, isChecked: isChecked(member) };
        const { tool, args: sent } = admitCall(connection.catalogue, asked);
        const startedAt = performance.now();
        const onProgress = progressListener((text) => session.redact(text));
        const { definition } = tool.inspected;
        const own = { tool: ref.tool, args: sent, meta, onProgress, definition };
        const result = await session.callTool({ ...own, ...limits });
        const durationMs = performance.now() - startedAt;
        return checkResult(
          tool,
          toOutcome(result, { durationMs, config: connection.entry.config }),
        );
      },
    });
  } catch (error) {
    if (error instanceof RequestFailedError && error.kind === "answered")
      return { kind: "failed", reason: error.message };
    throw error instanceof RequestFailedError
      ? lost(error, { call, callId, server: ref.server })
      : error;
  }
}

/** The call was sent, and its outcome is unknown. */
function lost(
  { kind, message, timeoutMs }: RequestFailedError,
  { call, callId, server }: { call: CallInWork; callId: string | undefined; server: string | null },
) {
  if (kind === "timed_out" && call.isCancelled)
    return fail.cancelled(
      `The call was cancelled. MCP server ${server} was notified; the call may have had its effect.`,
      { callId: callId ?? "", sent: true },
    );
  // Aborted before its deadline: the broker stops, and no caller waits for the answer any more.
  const isGivenUp = call.signal.aborted && call.requester.deadline > Date.now();
  if (kind === "timed_out" && !isGivenUp)
    return fail.tool_timeout(`MCP tool call timed out after ${Math.round(timeoutMs)}ms`, {
      timeoutMs,
    });
  const reason = kind === "timed_out" ? "the broker stopped" : message;
  return fail.outcome_unknown(
    `The call was sent to MCP server ${server} and its result was lost: ${reason}. It may or may not have happened.`,
    { callId: callId ?? null },
  );
}

function toOutcome(
  result: ToolResult,
  { durationMs, config }: { durationMs: number; config: ServerConfig | null },
): CallOutcome {
  const { content, structuredContent, isError = false, _meta: meta } = result;
  if (!isSurelySmall(result, config?.maxResultBytes ?? 0)) {
    const bytes = jsonBytes([content, structuredContent, meta]);
    if (bytes === null) return { kind: "failed", reason: TOO_DEEP };
    const limitBytes = config?.maxResultBytes ?? bytes;
    if (bytes > limitBytes) return { kind: "too_large", bytes, limitBytes };
  }
  const whole = {
    content: [...content],
    isError,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isRecord(meta) && { _meta: meta }),
  };
  return { kind: "result", result: { ...whole, text: resultText(whole), durationMs } };
}

/** The most bytes that one character of a line may become when it is serialised again: numbers with an exponent grow most. */
const MOST_BYTES = 8;
/** Far below the depth at which JSON cannot be written any more. */
const SHALLOW = 100;

/** True when the length of the line that carried a result proves that it is small enough, without serialising it again. */
function isSurelySmall(result: ToolResult, limitBytes: number): boolean {
  const length = lineLength(result);
  if (length === null || length * MOST_BYTES > limitBytes) return false;
  const { content, structuredContent, _meta: meta } = result;
  return [content, structuredContent, meta].every((part) => isShallow(part, SHALLOW));
}

export const TOO_DEEP = "its result is nested too deeply to be passed on";

/** The reply to a call with this outcome, or the error that represents it. */
function outcomeReply(
  outcome: CallOutcome,
  { decision, replayed }: { decision: Decision; replayed: boolean },
): z.input<typeof contract.reply> {
  switch (outcome.kind) {
    case "result":
      return { ...outcome.result, decision, replayed };
    case "failed":
      throw fail.tool_failed(`MCP tool error: ${outcome.reason}`, { reason: outcome.reason });
    case "invalid": {
      const { problems, result } = outcome;
      const { durationMs: _, isError: __, ...whole } = result;
      throw fail.invalid_result(
        `The tool ran, but its structured result does not fit its own output schema: ${problemText(problems)}. What else it returned is in the error's data.`,
        { problems, ...whole },
      );
    }
    case "too_large": {
      const { bytes, limitBytes } = outcome;
      throw fail.result_too_large(
        `The tool ran, but its result of ${bytes} bytes exceeds the limit of ${limitBytes}; ask it for less, or raise maxResultBytes of the server.`,
        { bytes, limitBytes },
      );
    }
    default:
      return outcome satisfies never;
  }
}
