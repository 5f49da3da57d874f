import { UrlElicitationRequiredError } from "@modelcontextprotocol/client";
import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp-broker/mcp";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import type { McpSession } from "../connection/mcp-session.ts";
import type { RequestLimits } from "../connection/request-lane.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import { createCallClock } from "../limits/call-clock.ts";
import {
  classifyCallFailure,
  mayNeedNewSession,
  verdictOf,
  type CallFailure,
} from "../limits/call-failure.ts";
import { OldQuestionError } from "../limits/old-question.ts";
import { notBegun, QueueFullError, QueueWaitError } from "../limits/call-queue.ts";
import type { CallEnd } from "../limits/circuit-breaker.ts";
import { within } from "@switchyard/contracts/timeouts";
import type { AskToOpen } from "../server-requests/ask-to-open.ts";
import type { Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { RequestOrigins } from "../server-requests/request-origins.ts";

export interface SendDeps {
  /** Records for whom each server works, for the requests that it sends back. */
  readonly origins: RequestOrigins;
  readonly askToOpen: AskToOpen;
}

/** A request that was decided, whatever it is for. */
export interface ServerRequest<T> {
  readonly call: CallInWork;
  /** In words, for refusals: "call tool". */
  readonly what: string;
  /**
   * Sends it on a session that was taken in the same moment. Throws NotSentError at once for a request that may no longer be
   * sent.
   */
  readonly send: (session: McpSession, limits: SendLimits) => Promise<T>;
}

export type SendLimits = Pick<RequestLimits, "timeoutMs" | "signal">;

/** The request was sent and has no result; the reason is redacted. */
export class RequestFailedError extends Error {
  override readonly name = "RequestFailedError";
  readonly kind: Exclude<CallFailure["kind"], "not_sent">;
  /** The time limit that it had when it timed out. */
  readonly timeoutMs: number;

  constructor(
    { kind, reason }: { kind: RequestFailedError["kind"]; reason: string },
    options: { readonly timeoutMs: number; readonly cause: unknown },
  ) {
    super(reason, { cause: options.cause });
    this.kind = kind;
    this.timeoutMs = options.timeoutMs;
  }
}

/** The time that the reply needs to reach the caller before the caller's deadline. */
const REPLY_MARGIN_MS = 100;

/** The server may have done something before its question, so that the broker does not repeat the request itself. */
const ASKS_NEXT_TIME =
  "The broker connects to this server with an earlier MCP revision from now on, in which it can ask: the same call works when it is made again (each broker of several finds out once). What the tool did before its question has happened.";

const fail = failuresOf(contract.errors);

/**
 * Sends a request when the server has a free slot: tools, resources, prompts and completion alike. Rejects with NotSentError when
 * it was provably not sent, and with RequestFailedError when it was and has no result.
 */
export async function sendRequest<T>(
  { origins, askToOpen }: SendDeps,
  { connection, queue }: PoolMember,
  request: ServerRequest<T>,
): Promise<T> {
  const { call } = request;
  const { requester, signal } = call;
  const timeLeft = (): number => requester.deadline - REPLY_MARGIN_MS - Date.now();
  const refusedForMs = connection.circuit.refusedForMs();
  if (refusedForMs !== null) throw new NotSentError(circuitOpen(connection, refusedForMs));
  await queue.enter({ timeoutMs: timeLeft(), signal }).catch((error: unknown) => {
    call.refuseCancelled();
    throw notEntered({ connection, queue }, error);
  });
  const sendNow = (): Promise<T> =>
    sendOnce({ origins, askToOpen }, connection, { ...request, timeLeft });
  try {
    // Another call may have begun to renew the session meanwhile.
    if (connection.session === null) await within(connection.start(), { ms: timeLeft() });
    return await sendNow().catch(async (error: unknown) => {
      if (!(error instanceof SessionRefusedError)) throw error;
      // The server did nothing, so the same request may be sent in a new session.
      await within(connection.renew(error.session, error.message), { ms: timeLeft() });
      call.refuseCancelled();
      const isNew = connection.session !== null && connection.session !== error.session;
      if (!isNew || timeLeft() <= 0) throw new NotSentError(notReached(connection, error.message));
      return sendNow();
    });
  } catch (error) {
    throw error instanceof SessionRefusedError
      ? new NotSentError(notReached(connection, error.message))
      : error;
  } finally {
    queue.leave();
  }
}

/**
 * The server refused the request before it did anything, perhaps because it does not have the session. The message is redacted.
 */
class SessionRefusedError extends Error {
  override readonly name = "SessionRefusedError";
  readonly session: McpSession;

  constructor(reason: string, session: McpSession, cause: unknown) {
    super(reason, { cause });
    this.session = session;
  }
}

/** Sends a request in the session of this moment. Rejects as {@link sendRequest} does, or with SessionRefusedError. */
async function sendOnce<T>(
  { origins, askToOpen }: SendDeps,
  connection: ServerConnection,
  request: ServerRequest<T> & { readonly timeLeft: () => number },
): Promise<T> {
  const { call, what, send, timeLeft } = request;
  const { requester, signal } = call;
  const clock = createCallClock();
  try {
    // Read now and not before the slot was free: the lease may have been lost and the server connected anew meanwhile.
    const { session } = connection;
    const { config, id } = connection.entry;
    if (session === null || config === null) throw new NotSentError(serverDown(connection, what));
    const entered = connection.circuit.enter();
    if ("retryAfterMs" in entered)
      throw new NotSentError(circuitOpen(connection, entered.retryAfterMs));
    const timeLeftMs = Math.max(1, timeLeft());
    try {
      const limits = {
        timeoutMs: timeLeftMs,
        signal: clock.start({ limitMs: config.callTimeoutMs, signal }),
      };
      const result = await origins.during(config, { requester, clock }, () =>
        send(session, limits),
      );
      entered.settle("good");
      connection.proved();
      return result;
    } catch (error) {
      entered.settle(endOf(error, { signal, isOwnLimit: clock.isOver }));
      if (error instanceof NotSentError) throw error;
      if (error instanceof UrlElicitationRequiredError) {
        const questions = await askToOpen(id, error.elicitations, requester);
        if (questions.length > 0) throw new NotSentError(questionPending(id, questions));
      }
      const timeoutMs = clock.isOver ? config.callTimeoutMs : timeLeftMs;
      if (error instanceof OldQuestionError) {
        const reason = session.redact(error.message);
        const isOlder = await connection.stepBack(session);
        const next = isOlder ? ` ${ASKS_NEXT_TIME}` : "";
        throw new RequestFailedError(
          { kind: "answered", reason: `${reason}${next}` },
          { timeoutMs, cause: error },
        );
      }
      throw failed(error, { connection, session, timeoutMs });
    }
  } finally {
    clock.stop();
  }
}

/** The failure of a request to a server that is not connected. */
export function serverDown(connection: ServerConnection, what = "call tool"): ServiceError {
  const { id, status, lastError } = connection.info;
  return fail.server_down(
    `MCP server ${id} is ${status}, cannot ${what}${lastError === null ? "" : `: ${lastError}`}`,
    { server: id, status, lastError, isReturning: connection.isReturning },
  );
}

/** A short deadline or a cancellation by the caller is no evidence about the server's health. */
function endOf(
  error: unknown,
  { signal, isOwnLimit }: { readonly signal: AbortSignal; readonly isOwnLimit: boolean },
): CallEnd {
  if (signal.aborted || error instanceof NotSentError) return "none";
  const failure = classifyCallFailure(error);
  if (failure.kind === "timed_out" && !isOwnLimit) return "none";
  return failure.kind === "lost" ? "lost" : verdictOf(error, failure);
}

function failed(
  error: unknown,
  context: { connection: ServerConnection; session: McpSession; timeoutMs: number },
): Error {
  const { connection, session, timeoutMs } = context;
  const { kind, reason: said } = classifyCallFailure(error);
  const reason = session.redact(said);
  if (kind === "not_sent")
    return mayNeedNewSession(error, session)
      ? new SessionRefusedError(reason, session, error)
      : new NotSentError(notReached(connection, reason));
  if (kind !== "lost") return new RequestFailedError({ kind, reason }, { timeoutMs, cause: error });
  // The transport's reason for the end of the connection.
  const end = connection.session === session ? null : connection.info.lastError;
  const why = connection.stoppedBecause ?? end ?? reason;
  return new RequestFailedError({ kind, reason: why }, { timeoutMs, cause: error });
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

function notEntered({ connection, queue }: PoolMember, error: unknown): unknown {
  if (!(error instanceof QueueFullError || error instanceof QueueWaitError)) return error;
  const server = connection.entry.id;
  const { inFlight, queued } = queue;
  const text = notBegun(server, { inFlight, queued }, error);
  return new NotSentError(fail.server_overloaded(text, { server, inFlight, queued }));
}

function circuitOpen(connection: ServerConnection, retryAfterMs: number): ServiceError {
  const { id } = connection.entry;
  return fail.circuit_open(
    `MCP server ${id} failed again and again and gets no calls until it recovers; this one was not sent. Try again in ${retryAfterMs} ms.`,
    { server: id, retryAfterMs },
  );
}

/** The server did not begin: it wants a person to open an address first. There is at least one question. */
function questionPending(server: string, questions: readonly Question[]): ServiceError {
  const [first] = questions;
  const questionIds = questions.map(({ id }) => id);
  return fail.question_pending(
    `MCP server ${server} did nothing: a person has to open an address first. Answer question ${questionIds.join(", ")} (mcp.answer), then send the same again.`,
    { server, questionIds, expiresAt: first?.expiresAt ?? null },
  );
}
