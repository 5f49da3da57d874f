import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp";
import type { CallProgress } from "@switchyard/contracts/mcp-calls";
import type { Decision, Principal } from "@switchyard/contracts/policy";
import { mcpToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import type { ExecutedCall, ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import {
  knownOutcome,
  refuseStale,
  withRefusals,
} from "@switchyard/service/tool-provider/call-refusals";
import { callFingerprint } from "@switchyard/service/tool-provider/call-fingerprint";
import {
  whileArriving,
  type ArrivingCall,
  type ArrivingCalls,
} from "@switchyard/service/tool-provider/arriving-calls";
import { NotSentError, type CallOnce } from "@switchyard/service/tool-provider/call-once";
import type { CallOutcome, CallStore } from "@switchyard/service/tool-provider/call-store";
import {
  asAllowed,
  type ApprovalGate,
  type Passed,
} from "@switchyard/service/tool-provider/approval-gate";
import type { StopWatch } from "@switchyard/service/tool-provider/stop-watch";
import { withHeldPlaces } from "@switchyard/service/tool-provider/held-places";
import { ownCallId } from "@switchyard/service/tool-provider/own-call-id";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import { sendApproved } from "./approval-step.ts";
import { createProgressTeller } from "./progress-teller.ts";
import type { RunEpochs } from "@switchyard/service/tool-provider/run-epochs";
import type { RunningCalls } from "@switchyard/service/tool-provider/running-calls";
import { problemText } from "./call-checks.ts";
import { sendCall, serverDown, type AllowedCall, type SendDeps } from "./send-call.ts";

type CallRequest = z.output<typeof contract.request>;
type CallReply = z.input<typeof contract.reply>;

export interface CallToolDeps extends SendDeps {
  /** Where the calls of this principal go; null for the connection that the tools were listed by. */
  readonly route: (principal: Principal) => Promise<Pick<SendDeps, "connection" | "queue"> | null>;
  readonly gate: PolicyGate;
  readonly approvals: ApprovalGate;
  readonly executions: ExecutionAudit;
  readonly stops: StopWatch;
  readonly once: CallOnce;
  readonly store: CallStore;
  readonly running: RunningCalls;
  readonly arriving: ArrivingCalls;
  readonly epochs: RunEpochs;
  /** Tells how far a call is to whom it is made for. */
  readonly tellProgress: (
    to: { readonly owner: string; readonly progressId: string },
    progress: CallProgress,
  ) => void;
}

const fail = failuresOf(contract.errors);

/**
 * One tool call, from its name to its result:
 * find the tool → ask the policy → claim the `callId` → use the approval, if it needs one → wait for a place → send.
 * The policy is asked before a stored result is given too: it may have changed since.
 */
export async function callTool(
  deps: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<CallReply> {
  return withRefusals(() =>
    withHeldPlaces(deps.gate, asked, (holding) => {
      const { onBehalfOf: caller, token } = asked;
      const call = { callId: request.callId, caller, token, server: deps.connection.entry.id };
      return whileArriving(deps.arriving, call, (arriving) =>
        decideAndCall(deps, request, { asked: holding, arriving }),
      );
    }),
  );
}

function refuseCancelled({ arriving: calls }: CallToolDeps, call: ArrivingCall | null): void {
  if (call === null || !calls.isCancelled(call)) return;
  const { callId } = call;
  throw new NotSentError(
    fail.cancelled("The call was cancelled. It was not sent.", { callId, sent: false }),
  );
}

async function decideAndCall(
  deps: CallToolDeps,
  request: CallRequest,
  { asked, arriving }: { readonly asked: AskedFor; readonly arriving: ArrivingCall | null },
): Promise<CallReply> {
  const { args, callId } = request;
  await deps.connection.start();
  refuseCancelled(deps, arriving);
  const ref = await findTool(deps, request, asked);
  const pin = deps.connection.catalogue.find(ref.name)?.inspected.pin;
  const question = pin === undefined ? { ref, args } : { ref, args, pin };
  const { decision, principal, audit } = await deps.gate.check(question, asked);
  if (decision.effect === "deny") throw denied(ref, decision);
  await refuseStale(deps.epochs, request, principal);
  refuseCancelled(deps, arriving);

  const call: Allowed = { request, asked, ref, pin, principal, decision, decisionRef: audit };
  if (callId === undefined) {
    const outcome = await send(deps, call, toSend(deps, call, asked.signal));
    return outcomeReply(outcome, { decision: asAllowed(decision), replayed: false });
  }
  const caller = asked.onBehalfOf;
  const fingerprint = callFingerprint({ caller, principal, ref, args });
  const identity = { fingerprint, ref, caller, token: asked.token };
  const result = await deps.once.run(ownCallId(caller, callId), identity, () =>
    sendCancellable(deps, call, { callId, arriving }),
  );
  const { outcome, replayed } = knownOutcome(result, callId);
  return outcomeReply(outcome, { decision: asAllowed(decision), replayed });
}

/** The route is taken after the decision: it may start a process. */
async function routed(deps: CallToolDeps, principal: Principal): Promise<SendDeps> {
  return { ...deps, ...(await deps.route(principal)) };
}

interface Allowed {
  readonly request: CallRequest;
  readonly asked: AskedFor;
  readonly ref: ToolRef;
  readonly pin: string | undefined;
  readonly principal: Principal;
  readonly decision: Decision;
  /** The policy's record of the decision. */
  readonly decisionRef: string | undefined;
}

/** Until here nothing has left the broker. */
function send(deps: CallToolDeps, call: Allowed, sent: AllowedCall): Promise<CallOutcome> {
  const { principal, ref, asked, decision, request } = call;
  return deps.stops.during({ principal, ref, token: asked.token }, sent.signal, (signal) => {
    const toServer = (passed: Passed | null) =>
      deps.executions.during(executedCall(call, passed), async () =>
        sendCall(await routed(deps, principal), { ...sent, signal }),
      );
    if (decision.effect === "allow") return toServer(null);
    const { approvalId } = request;
    return sendApproved(deps, { ...sent, principal, decision, approvalId }, toServer);
  });
}

function executedCall(call: Allowed, passed: Passed | null): ExecutedCall {
  const { request, asked, ref, pin, principal, decision, decisionRef } = call;
  const { args, callId } = request;
  const { onBehalfOf: caller, correlationId } = asked;
  const made = { caller, principal, ref, pin, callId, args };
  return { ...made, decision, decisionRef, passed, correlationId };
}

/** From here on it is in work, until it has ended. */
async function sendCancellable(
  deps: CallToolDeps,
  call: Allowed,
  { callId, arriving }: { readonly callId: string; readonly arriving: ArrivingCall | null },
): Promise<CallOutcome> {
  refuseCancelled(deps, arriving);
  if (arriving !== null) deps.arriving.end(arriving);
  const { asked, ref, principal } = call;
  const caller = asked.onBehalfOf;
  const owner = { callId: ownCallId(caller, callId), caller, principal, token: asked.token, ref };
  const running = deps.running.begin(owner, asked.signal);
  try {
    const sent = toSend(deps, call, running.signal);
    return await send(deps, call, { ...sent, isCancelled: () => running.isCancelled });
  } finally {
    running.end();
  }
}

function toSend(deps: CallToolDeps, call: Allowed, signal: AbortSignal): AllowedCall {
  const { request, asked, ref, pin, principal } = call;
  const { args, callId, progress: progressId } = request;
  const onProgress: AllowedCall["onProgress"] =
    progressId === undefined
      ? null
      : (redact) =>
          createProgressTeller({
            call: { server: deps.connection.entry.id, tool: ref.tool, callId: callId ?? null },
            tell: (progress) => deps.tellProgress({ owner: principal.user, progressId }, progress),
            redact,
            now: deps.now,
          });
  const { deadline } = asked;
  return { ref, pin, args, callId, asked, deadline, signal, isCancelled: never, onProgress };
}

const never = (): boolean => false;

/** A tool of the catalogue, or the tool of the stored call when its server is down by now. */
async function findTool(
  { connection, store, gate }: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<ToolRef> {
  const server = connection.entry.id;
  const found =
    connection.catalogue.find(request.tool) ??
    (await storedTool(store, request, { server, caller: asked.onBehalfOf }));
  // Once more, at the same moment as the session: the server may have been connected again meanwhile.
  const tool = found ?? connection.catalogue.find(request.tool);
  if (tool !== null) return tool.ref;
  if (connection.session === null) throw serverDown(connection);
  await denyUnknown(gate, { server, request }, asked);
  throw fail.unknown_tool(
    `MCP server ${server} has no tool ${request.tool}; mcp.tools lists what it has.`,
    {
      server,
      tool: request.tool,
    },
  );
}

async function storedTool(
  store: CallStore,
  { callId, tool }: CallRequest,
  { server, caller }: { readonly server: string; readonly caller: string },
): Promise<{ readonly ref: ToolRef } | null> {
  const record = callId === undefined ? null : await store.read(ownCallId(caller, callId));
  if (record === null || record.state === "cancelled") return null;
  const { ref } = record;
  return ref.server === server && [ref.name, ref.tool].includes(tool) ? { ref } : null;
}

/** Who may not call a tool of this name is told just that, whether there is one or not. */
async function denyUnknown(
  gate: PolicyGate,
  { server, request }: { server: string; request: CallRequest },
  asked: AskedFor,
): Promise<void> {
  const prefix = `mcp__${server}__`;
  const { tool, args } = request;
  const ref = mcpToolRef(server, tool.startsWith(prefix) ? tool.slice(prefix.length) : tool);
  const { decision } = await gate.check({ ref, args }, asked);
  if (decision.effect === "deny") throw denied(ref, decision);
}

function denied(ref: ToolRef, decision: Decision) {
  return fail.denied(`The policy denies ${ref.name}: ${decision.reason}`, decision);
}

function outcomeReply(
  outcome: CallOutcome,
  { decision, replayed }: { decision: Decision; replayed: boolean },
): CallReply {
  switch (outcome.kind) {
    case "result":
      return { ...outcome.result, decision, replayed };
    case "failed":
      throw fail.tool_failed(`MCP tool error: ${outcome.reason}`, { reason: outcome.reason });
    case "invalid": {
      const { problems, result } = outcome;
      const { content, text } = result;
      throw fail.invalid_result(
        `The tool ran, but its structured result does not fit its own output schema: ${problemText(problems)}. What else it returned is in the error's data.`,
        { problems, content, text },
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
