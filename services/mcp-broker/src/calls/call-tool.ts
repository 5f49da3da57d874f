import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp";
import type { Decision } from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { callFingerprint } from "./call-fingerprint.ts";
import { NotSentError, type CallOnce, type OnceResult } from "./call-once.ts";
import { CallStoreError, type CallOutcome, type CallStore } from "./call-store.ts";
import type { AskedFor, PolicyGate } from "./policy-gate.ts";
import { sendCall, serverDown, type SendDeps } from "./send-call.ts";

type CallRequest = z.output<typeof contract.request>;
type CallReply = z.input<typeof contract.reply>;

export interface CallToolDeps extends SendDeps {
  readonly gate: PolicyGate;
  readonly once: CallOnce;
  readonly store: CallStore;
}

const fail = failuresOf(contract.errors);

/**
 * One tool call, from its name to its result:
 * find the tool → ask the policy → claim the `callId` → wait for a place → send.
 * The policy is asked before a stored result is given too: it may have changed since.
 */
export async function callTool(
  deps: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<CallReply> {
  try {
    return await decideAndCall(deps, request, asked);
  } catch (error) {
    if (error instanceof NotSentError) throw error.reply;
    if (error instanceof CallStoreError) throw storeUnavailable(error);
    throw error;
  }
}

async function decideAndCall(
  deps: CallToolDeps,
  request: CallRequest,
  asked: AskedFor,
): Promise<CallReply> {
  const { args, callId } = request;
  await deps.connection.start();
  const ref = await findTool(deps, request);
  const { decision, principal } = await deps.gate.check({ ref, args }, asked);
  if (decision.effect !== "allow")
    throw fail.denied(`The policy denies ${ref.name}: ${decision.reason}`, decision);

  const { deadline, signal } = asked;
  const send = (): Promise<CallOutcome> => sendCall(deps, { ref, args, callId, deadline, signal });
  if (callId === undefined) return outcomeReply(await send(), { decision, replayed: false });
  const fingerprint = callFingerprint({ caller: asked.onBehalfOf, principal, ref, args });
  const result = await deps.once.run(callId, { fingerprint, ref }, send);
  return onceReply(result, { callId, decision });
}

/** A tool of the catalogue, or the tool of the stored call when its server is down by now. */
async function findTool(
  { connection, store }: CallToolDeps,
  request: CallRequest,
): Promise<ToolRef> {
  const tool = connection.catalogue.find(request.tool);
  if (tool !== null) return tool.ref;
  const ref =
    request.callId === undefined ? null : ((await store.read(request.callId))?.ref ?? null);
  if (
    ref !== null &&
    ref.server === connection.entry.id &&
    [ref.name, ref.tool].includes(request.tool)
  )
    return ref;
  if (connection.session === null) throw serverDown(connection);
  const server = connection.entry.id;
  throw fail.unknown_tool(
    `MCP server ${server} has no tool ${request.tool}; mcp.tools lists what it has.`,
    {
      server,
      tool: request.tool,
    },
  );
}

function onceReply(
  result: OnceResult,
  { callId, decision }: { callId: string; decision: Decision },
): CallReply {
  switch (result.kind) {
    case "outcome":
      return outcomeReply(result.outcome, { decision, replayed: result.replayed });
    case "conflict":
      throw fail.call_id_conflict(
        `callId ${callId} belongs to another call (other caller, tool or arguments); use a new one.`,
        { callId },
      );
    case "unknown":
      throw fail.outcome_unknown(
        `An earlier call with callId ${callId} was sent and its result was lost. It may or may not have happened.`,
        { callId },
      );
    default:
      return result satisfies never;
  }
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

function storeUnavailable(error: CallStoreError) {
  return fail.call_store_unavailable(
    `A call with a callId cannot be made safely now, and was not made: ${error.message}; try again when Redis is up.`,
    { cause: error.message },
  );
}
