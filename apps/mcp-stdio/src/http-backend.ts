import { clientTool } from "@switchyard/contracts/mcp-broker/client-tool";
import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import { SESSION_TOKEN_HEADER } from "@switchyard/contracts/agent-runner/session-claims";
import { createClient } from "@switchyard/client/client";
import { ProblemError } from "@switchyard/client/problem-error";
import {
  AGENT_SECONDS,
  AGENT_TOOL,
  agentMessage,
  agentReply,
  agentTool,
  BackendError,
  serverOf,
  type Backend,
  type CallReply,
  type CallRequest,
} from "./backend.ts";
import type { SessionClaims } from "./environment.ts";
import { sessionToken } from "./session-token.ts";

/** The tools through the gateway, as the token's user; with claims, under the rules of the session that they are about. */
export function httpBackend(
  baseUrl: string,
  bearer: string,
  claims: SessionClaims | null,
): Backend {
  const at = { baseUrl: baseUrl.replace(/\/+$/, ""), token: bearer };
  const client = createClient(at);
  const tokenFor = sessionToken(claims, {
    claim: async ({ session, ...body }, signal) =>
      client.request("POST /sessions/{session}/claim", { path: { session }, body }, { signal }),
    codeOf: (error) => (error instanceof ProblemError ? error.problem.code : null),
  });
  const underClaims = async (signal: AbortSignal) => {
    const { token } = await tokenFor(signal);
    return token === undefined
      ? client
      : createClient({ ...at, headers: { [SESSION_TOKEN_HEADER]: token } });
  };
  const send = async (request: CallRequest): Promise<CallReply> => {
    const { name: tool, args, callId, signal } = request;
    if (tool.startsWith(AGENT_TOOL)) {
      const { session, ...message } = agentMessage(request);
      const body = { ...message, timeoutSeconds: AGENT_SECONDS };
      const path = { session };
      return agentReply(
        await client.request("POST /sessions/{session}/messages", { path, body }, { signal }),
      );
    }
    const server = serverOf(tool);
    const claiming = await underClaims(signal);
    const body = { args };
    const about = { body, idempotencyKey: callId };
    if (server === null)
      return claiming.request(
        "POST /tools/builtin/{tool}/call",
        { path: { tool }, ...about },
        { signal },
      );
    const path = { server, tool };
    const ofClient = request.meta === undefined ? {} : { _meta: request.meta };
    const ofTool = { ...about, body: { ...body, ...ofClient } };
    return claiming.request(
      "POST /tools/mcp/{server}/{tool}/call",
      { path, ...ofTool },
      { signal },
    );
  };
  return {
    tools: (scope, signal) =>
      orBackendError(async () => {
        const claiming = await underClaims(signal);
        const { tools } = await claiming.request("GET /tools/builtin", {}, { signal });
        if (scope === "platform") return tools;
        const [mcp, { agents }] = await Promise.all([
          claiming.request("GET /tools", {}, { signal }),
          // The caller's own client: no session confirmed a claim.
          claiming === client ? client.request("GET /agents", {}, { signal }) : NO_AGENTS,
        ]);
        const ofServers = mcp.tools.map((tool) => clientTool(tool as ToolInfo, tool.name)); // the contract's own reply
        return [...tools, ...ofServers, ...agents.map(agentTool)];
      }),
    call: (request) => orBackendError(() => send(request)),
    questions: (server, signal) =>
      orBackendError(async () => {
        const query = { server };
        return (await client.request("GET /mcp/questions", { query }, { signal })).questions;
      }),
    close: async () => {},
  };
}

/** Agents are started under the caller's own rules, not those of a session. */
const NO_AGENTS = { agents: [] };

async function orBackendError<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { code, detail, data } = error.problem;
    throw new BackendError(code, detail, data, { cause: error });
  }
}
