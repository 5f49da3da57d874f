import {
  UrlElicitationRequiredError,
  type RequestMethod,
  type ServerCapabilities,
} from "@modelcontextprotocol/client";
import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { featureErrors } from "@switchyard/contracts/mcp-features";
import { createCallClock, type CallClock } from "../limits/call-clock.ts";
import { classifyCallFailure } from "../limits/call-failure.ts";
import { TOO_DEEP } from "../calls/send-call.ts";
import { QueueFullError, QueueWaitError, type CallQueue } from "../limits/call-queue.ts";
import type { Principal } from "@switchyard/contracts/policy";
import { NotSentError } from "@switchyard/service/tool-provider/call-once";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { McpSession } from "../connection/mcp-session.ts";
import { jsonBytes } from "../json/json-record.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import type { AskToOpen } from "../server-requests/ask-to-open.ts";
import { questionPending } from "../server-requests/question-pending.ts";
import type { RequestOrigins } from "../server-requests/request-origins.ts";

/** The server that a request is for, and what bounds it. */
export interface RequestTarget {
  readonly connection: ServerConnection;
  readonly queue: CallQueue;
  readonly origins: RequestOrigins;
  readonly askToOpen: AskToOpen;
  /** Where requests of this principal go; null for the connection above. */
  readonly route: (
    principal: Principal,
  ) => Promise<Pick<RequestTarget, "connection" | "queue"> | null>;
}

export interface FeatureRequest {
  readonly method: RequestMethod;
  readonly params: Readonly<Record<string, unknown>>;
  /** What the server must have said that it can do. */
  readonly needs: FeatureName;
  readonly asked: AskedFor;
}

export type FeatureName = "resources" | "subscriptions" | "prompts" | "completions" | "logging";

/** What the reply needs to reach the caller before the caller gives up. */
const REPLY_MARGIN_MS = 100;

const fail = failuresOf(featureErrors);

/**
 * Sends one request to a server when it has a free place and returns the result, which has the
 * shape that the protocol says and at most `maxResultBytes`. Throws the errors of the contract.
 */
export async function sendRequest(
  target: RequestTarget,
  request: FeatureRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const { connection, queue, origins } = target;
  await connection.start();
  const session = supportingSession(connection, request.needs);
  const { asked } = request;
  const { config } = connection.entry;
  if (config === null) throw serverDown(connection, connection.info.lastError);
  const timeLeft = (): number => asked.deadline - REPLY_MARGIN_MS - Date.now();
  try {
    const clock = createCallClock();
    return await queue.run(
      () =>
        origins.during(config, { asked, clock }, () =>
          sendNow(target, session, { ...request, clock, timeLeftMs: timeLeft() }),
        ),
      { timeoutMs: timeLeft(), signal: asked.signal },
    );
  } catch (error) {
    if (!(error instanceof QueueFullError || error instanceof QueueWaitError)) throw error;
    throw overloaded(connection, queue, error.message);
  }
}

/** The target with the instance of the principal's run or session, for a server that is not shared. */
export async function routed<T extends RequestTarget>(target: T, principal: Principal): Promise<T> {
  try {
    return { ...target, ...(await target.route(principal)) };
  } catch (error) {
    if (error instanceof NotSentError) throw error.reply; // no such instance, in words of the contract
    throw error;
  }
}

/** The session of a connected server that has the feature, or the error that says why there is none. */
export function supportingSession(connection: ServerConnection, needs: FeatureName): McpSession {
  const { session } = connection;
  if (session === null) throw serverDown(connection, connection.info.lastError);
  if (hasFeature(session.capabilities, needs)) return session;
  const server = connection.entry.id;
  throw fail.not_supported(`MCP server ${server} does not offer ${needs}.`, {
    server,
    feature: needs,
  });
}

export function hasFeature(capabilities: ServerCapabilities, feature: FeatureName): boolean {
  return feature === "subscriptions"
    ? capabilities.resources?.subscribe === true
    : capabilities[feature] !== undefined;
}

async function sendNow(
  { connection, askToOpen }: Pick<RequestTarget, "connection" | "askToOpen">,
  session: McpSession,
  request: FeatureRequest & { readonly clock: CallClock; readonly timeLeftMs: number },
): Promise<Readonly<Record<string, unknown>>> {
  const { config } = connection.entry;
  const { method, params, asked, clock } = request;
  const timeLeftMs = Math.max(1, request.timeLeftMs);
  const limitMs = config?.callTimeoutMs ?? timeLeftMs;
  const result = await clock
    .run({ limitMs, signal: asked.signal }, (signal) =>
      session.request({ method, params, timeoutMs: timeLeftMs, signal }),
    )
    .catch(async (error: unknown) => {
      if (error instanceof UrlElicitationRequiredError) {
        const questions = await askToOpen(connection.entry.id, error.elicitations, asked);
        if (questions.length > 0) throw questionPending(connection.entry.id, questions);
      }
      const timeoutMs = clock.isOver ? limitMs : timeLeftMs;
      throw requestError(error, { connection, session, timeoutMs });
    });
  const bytes = jsonBytes(result);
  if (bytes === null) {
    const server = connection.entry.id;
    throw fail.server_failed(`MCP server ${server} failed: ${TOO_DEEP}`, {
      server,
      reason: TOO_DEEP,
    });
  }
  const limitBytes = config?.maxResultBytes ?? bytes;
  if (bytes <= limitBytes) return result;
  throw fail.result_too_large(
    `The result of ${bytes} bytes exceeds the limit of ${limitBytes}; raise maxResultBytes of the server.`,
    { bytes, limitBytes },
  );
}

function requestError(
  error: unknown,
  {
    connection,
    session,
    timeoutMs,
  }: { connection: ServerConnection; session: McpSession; timeoutMs: number },
): ServiceError {
  const failure = classifyCallFailure(error);
  const reason = session.redact(failure.reason);
  const server = connection.entry.id;
  switch (failure.kind) {
    case "answered":
      return fail.server_failed(`MCP server ${server} refused: ${reason}`, { server, reason });
    case "timed_out":
      return fail.server_timeout(
        `MCP server ${server} did not answer within ${Math.round(timeoutMs)} ms`,
        { server, timeoutMs },
      );
    case "not_sent":
      return serverDown(connection, reason);
    case "lost":
      return fail.server_failed(`The connection to MCP server ${server} was lost: ${reason}`, {
        server,
        reason,
      });
    default:
      return failure.kind satisfies never;
  }
}

function serverDown(connection: ServerConnection, lastError: string | null): ServiceError {
  const { id, status } = connection.info;
  return fail.server_down(
    `MCP server ${id} is ${status}${lastError === null ? "" : `: ${lastError}`}`,
    { server: id, status, lastError },
  );
}

function overloaded(connection: ServerConnection, queue: CallQueue, reason: string): ServiceError {
  const { inFlight, queued } = queue;
  return fail.server_overloaded(
    `MCP server ${connection.entry.id} has ${inFlight} requests in work and ${queued} waiting, and ${reason}; try again later.`,
    { server: connection.entry.id, inFlight, queued },
  );
}
