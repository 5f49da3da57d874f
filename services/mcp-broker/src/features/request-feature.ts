import type { RequestMethod, ServerCapabilities } from "@modelcontextprotocol/client";
import { failuresOf, isError, type ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { featureErrors } from "@switchyard/contracts/mcp-broker/mcp-features";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import { TOO_DEEP } from "../calls/call-tool.ts";
import {
  RequestFailedError,
  sendRequest,
  serverDown,
  type SendDeps,
  type SendLimits,
} from "../calls/send-request.ts";
import type { McpSession } from "../connection/mcp-session.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import { jsonBytes } from "../json/json-value.ts";

export type FeatureName = "resources" | "subscriptions" | "prompts" | "completions" | "logging";

export interface FeatureRequest {
  readonly method: RequestMethod;
  readonly params: Readonly<Record<string, unknown>>;
  /** The capability that the server must have declared. */
  readonly needs: FeatureName;
}

const fail = failuresOf(featureErrors);

/**
 * Sends one request to a server as a tool call is sent, and returns the result, which has the shape that the protocol prescribes
 * and at most `maxResultBytes`. Throws the errors of the contract, or NotSentError.
 */
export async function requestFeature(
  sender: SendDeps,
  member: PoolMember,
  request: FeatureRequest & { readonly call: CallInWork },
): Promise<Readonly<Record<string, unknown>>> {
  const { connection } = member;
  const { call, method, params, needs } = request;
  const server = connection.entry.id;
  await connection.start();
  supportingSession(connection, needs);
  let result: Readonly<Record<string, unknown>>;
  try {
    const send = (session: McpSession, limits: SendLimits) =>
      session.request({ method, params, ...limits });
    result = await sendRequest(sender, member, { call, what: `send ${method}`, send });
  } catch (error) {
    throw failureOf(error, connection);
  }
  const bytes = jsonBytes(result);
  if (bytes === null) throw serverFailed(server, `failed: ${TOO_DEEP}`, TOO_DEEP);
  const limitBytes = connection.entry.config?.maxResultBytes ?? bytes;
  if (bytes <= limitBytes) return result;
  throw fail.result_too_large(
    `The result of ${bytes} bytes exceeds the limit of ${limitBytes}; raise maxResultBytes of the server.`,
    { bytes, limitBytes },
  );
}

/** The session of a connected server that has the feature; throws an error with the reason when there is none. */
export function supportingSession(connection: ServerConnection, needs: FeatureName): McpSession {
  const { session } = connection;
  if (session === null) throw new NotSentError(serverDown(connection, `use ${needs}`));
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

/** The error for an answer of another kind than the request expects. */
export function noResult(server: string, what: string): ServiceError {
  const reason = `it answered with something that is not a ${what}`;
  return serverFailed(server, `failed: ${reason}`, reason);
}

function failureOf(error: unknown, connection: ServerConnection): unknown {
  const server = connection.entry.id;
  // The contract of features has no code of its own for an open circuit.
  if (error instanceof NotSentError && isError(error.reply, callTool, "circuit_open")) {
    const { status } = connection.info;
    const lastError = error.reply.message;
    return new NotSentError(fail.server_down(lastError, { server, status, lastError }));
  }
  if (!(error instanceof RequestFailedError)) return error;
  const { kind, message: reason, timeoutMs } = error;
  switch (kind) {
    case "answered":
      return serverFailed(server, `refused: ${reason}`, reason);
    case "timed_out":
      return fail.server_timeout(
        `MCP server ${server} did not answer within ${Math.round(timeoutMs)} ms`,
        { server, timeoutMs },
      );
    case "lost":
      return fail.server_failed(`The connection to MCP server ${server} was lost: ${reason}`, {
        server,
        reason,
      });
    default:
      return kind satisfies never;
  }
}

function serverFailed(server: string, what: string, reason: string): ServiceError {
  return fail.server_failed(`MCP server ${server} ${what}`, { server, reason });
}
