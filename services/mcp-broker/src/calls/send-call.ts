import { UrlElicitationRequiredError, type CallToolResult } from "@modelcontextprotocol/client";
import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { createCallClock, type CallClock } from "../limits/call-clock.ts";
import { classifyCallFailure, verdictOf } from "../limits/call-failure.ts";
import { NotSentError } from "@switchyard/service/tool-provider/call-once";
import { notBegun, QueueFullError, QueueWaitError, type CallQueue } from "../limits/call-queue.ts";
import type { CallOutcome } from "@switchyard/service/tool-provider/call-store";
import type { AskToOpen } from "../server-requests/ask-to-open.ts";
import { questionPending } from "../server-requests/question-pending.ts";
import type { RequestOrigins } from "../server-requests/request-origins.ts";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { CallEnd } from "../limits/circuit-breaker.ts";
import type { ServerProgress } from "./progress-teller.ts";
import type { McpSession } from "../connection/mcp-session.ts";
import { admitCall, checkResult } from "./call-checks.ts";
import { jsonBytes } from "../json/json-record.ts";
import { resultText } from "./result-text.ts";
import type { ServerConfig } from "../declaration/server-config.ts";
import type { ServerConnection } from "../connection/server-connection.ts";

export interface SendDeps {
  readonly connection: ServerConnection;
  readonly queue: CallQueue;
  /** Knows for whom each server works, for what it asks back. */
  readonly origins: RequestOrigins;
  readonly askToOpen: AskToOpen;
  readonly now: () => number;
}

export interface AllowedCall {
  readonly ref: ToolRef;
  /** Digest of the definition that the policy was asked about. */
  readonly pin: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly callId: string | undefined;
  readonly asked: AskedFor;
  /** Epoch milliseconds at which the caller stops waiting. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** True once somebody who may has cancelled the call: then the signal is aborted, too. */
  readonly isCancelled: () => boolean;
  /** Makes the hearer of the server's progress; null when nobody asked for it. */
  readonly onProgress: ((redact: (text: string) => string) => ProgressHearer) | null;
}

type ProgressHearer = (progress: ServerProgress) => void;

/** What the reply needs to reach the caller before the caller gives up. */
const REPLY_MARGIN_MS = 100;

const fail = failuresOf(contract.errors);

/**
 * Sends an allowed call when its server has a free place, and returns how the server answered.
 * Throws NotSentError when it was provably not sent, `tool_timeout` when no answer came in time and
 * `outcome_unknown` when the connection was lost on the way.
 */
export async function sendCall(deps: SendDeps, call: AllowedCall): Promise<CallOutcome> {
  const { connection, queue, origins, now } = deps;
  const { config } = connection.entry;
  if (config === null) throw new NotSentError(serverDown(connection));
  const timeLeft = (): number => call.deadline - REPLY_MARGIN_MS - now();
  const refusedForMs = connection.circuit.refusedForMs();
  if (refusedForMs !== null) throw new NotSentError(circuitOpen(connection, refusedForMs));
  try {
    const clock = createCallClock();
    const send = () =>
      origins.during(config, { asked: call.asked, clock }, () =>
        sendNow(deps, call, { clock, timeLeftMs: Math.max(1, timeLeft()) }),
      );
    return await queue.run(send, { timeoutMs: timeLeft(), signal: call.signal });
  } catch (error) {
    if (!(error instanceof QueueFullError || error instanceof QueueWaitError)) throw error;
    if (call.isCancelled()) throw new NotSentError(cancelled(call, { sent: false }));
    throw new NotSentError(overloaded(connection, queue, error));
  }
}

/** The failure of a call to a server that is not connected. */
export function serverDown(connection: ServerConnection): ServiceError {
  const { id, status, lastError } = connection.info;
  return fail.server_down(
    `MCP server ${id} is ${status}, cannot call tool${lastError === null ? "" : `: ${lastError}`}`,
    {
      server: id,
      status,
      lastError,
      isReturning: connection.isReturning,
    },
  );
}

async function sendNow(
  { connection, askToOpen }: SendDeps,
  call: AllowedCall,
  { clock, timeLeftMs }: { readonly clock: CallClock; readonly timeLeftMs: number },
): Promise<CallOutcome> {
  const { session } = connection;
  const { config } = connection.entry;
  if (session === null || config === null) throw new NotSentError(serverDown(connection));
  const tool = admitCall(connection.catalogue, call);
  const entered = connection.circuit.enter();
  if ("retryAfterMs" in entered)
    throw new NotSentError(circuitOpen(connection, entered.retryAfterMs));
  const startedAt = performance.now();
  try {
    const { args, signal, ref } = call;
    const onProgress = call.onProgress?.((text) => session.redact(text));
    const { definition } = tool.inspected;
    const own = { tool: ref.tool, args, timeoutMs: timeLeftMs, onProgress, definition };
    const result = await clock.run({ limitMs: config.callTimeoutMs, signal }, (ending) =>
      session.callTool({ ...own, signal: ending }),
    );
    entered.settle("good");
    const durationMs = performance.now() - startedAt;
    return checkResult(tool, toOutcome(result, { durationMs, config }));
  } catch (error) {
    entered.settle(endOfCall(error, call, { isOwnLimit: clock.isOver }));
    if (error instanceof UrlElicitationRequiredError) {
      const asked = await askToOpen(connection.entry.id, error.elicitations, call.asked);
      if (asked.length > 0) throw new NotSentError(questionPending(connection.entry.id, asked));
    }
    const timeoutMs = clock.isOver ? config.callTimeoutMs : timeLeftMs;
    return failedOutcome(error, { connection, session, call, timeoutMs });
  }
}

/** A caller that gives a call little time or takes it back says nothing about the server. */
function endOfCall(
  error: unknown,
  call: AllowedCall,
  { isOwnLimit }: { readonly isOwnLimit: boolean },
): CallEnd {
  if (call.signal.aborted) return "none";
  const failure = classifyCallFailure(error);
  if (failure.kind === "timed_out" && !isOwnLimit) return "none";
  return failure.kind === "lost" ? "lost" : verdictOf(error, failure);
}

function toOutcome(
  result: CallToolResult,
  { durationMs, config }: { durationMs: number; config: ServerConfig },
): CallOutcome {
  const { content, structuredContent, isError = false } = result;
  const bytes = jsonBytes([content, structuredContent]);
  if (bytes === null) return { kind: "failed", reason: TOO_DEEP };
  if (bytes > config.maxResultBytes)
    return { kind: "too_large", bytes, limitBytes: config.maxResultBytes };
  const whole = {
    content,
    isError,
    ...(structuredContent === undefined ? {} : { structuredContent }),
  };
  return { kind: "result", result: { ...whole, text: resultText(whole), durationMs } };
}

export const TOO_DEEP = "its result is nested too deeply to be passed on";

function failedOutcome(
  error: unknown,
  {
    connection,
    session,
    call,
    timeoutMs,
  }: { connection: ServerConnection; session: McpSession; call: AllowedCall; timeoutMs: number },
): CallOutcome {
  const failure = classifyCallFailure(error);
  const reason = session.redact(failure.reason);
  switch (failure.kind) {
    case "answered":
      return { kind: "failed", reason };
    case "not_sent":
      throw new NotSentError(notReached(connection, reason));
    case "timed_out":
      if (call.isCancelled()) throw cancelled(call, { sent: true });
      // Aborted before its time: the broker stops, and nobody waits for the answer any more.
      if (call.signal.aborted && call.deadline > Date.now())
        throw unknown("the broker stopped", call);
      throw fail.tool_timeout(`MCP tool call timed out after ${Math.round(timeoutMs)}ms`, {
        timeoutMs,
      });
    case "lost":
      throw unknown(connection.stoppedBecause ?? endOfSession(connection, session) ?? reason, call);
    default:
      return failure.kind satisfies never;
  }
}

/** Why the connection of the call ended, as the transport saw it; null while it stands. */
function endOfSession(connection: ServerConnection, session: McpSession): string | null {
  return connection.session === session ? null : connection.info.lastError;
}

function notReached(connection: ServerConnection, reason: string): ServiceError {
  const { id, status } = connection.info;
  return fail.server_down(`MCP server ${id} did not take the call: ${reason}`, {
    server: id,
    status,
    lastError: reason,
    isReturning: connection.isReturning,
  });
}

function overloaded(
  { entry: { id: server } }: ServerConnection,
  { inFlight, queued }: CallQueue,
  error: QueueFullError | QueueWaitError,
): ServiceError {
  return fail.server_overloaded(notBegun(server, { inFlight, queued }, error), {
    server,
    inFlight,
    queued,
  });
}

function circuitOpen(connection: ServerConnection, retryAfterMs: number): ServiceError {
  const { id } = connection.entry;
  return fail.circuit_open(
    `MCP server ${id} failed again and again and gets no calls until it recovers; this one was not sent. Try again in ${retryAfterMs} ms.`,
    { server: id, retryAfterMs },
  );
}

function cancelled(call: AllowedCall, { sent }: { sent: boolean }): ServiceError {
  const fate = sent
    ? `MCP server ${call.ref.server} was told to stop; the call may have had its effect.`
    : "It was not sent.";
  return fail.cancelled(`The call was cancelled. ${fate}`, { callId: call.callId ?? "", sent });
}

function unknown(reason: string, call: AllowedCall): ServiceError {
  return fail.outcome_unknown(
    `The call was sent to MCP server ${call.ref.server} and its result was lost: ${reason}. It may or may not have happened.`,
    { callId: call.callId ?? null },
  );
}
