import { clientTool } from "@switchyard/contracts/client-tool";
import type { ToolInfo } from "@switchyard/contracts/mcp";
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

/** The tools through the gateway, as the token's user. */
export function httpBackend(baseUrl: string, token: string): Backend {
  const client = createClient({ baseUrl: baseUrl.replace(/\/+$/, ""), token });
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
    const body = { args };
    const about = { body, idempotencyKey: callId };
    if (server === null)
      return client.request(
        "POST /tools/builtin/{tool}/call",
        { path: { tool }, ...about },
        { signal },
      );
    const path = { server, tool };
    const ofClient = request.meta === undefined ? {} : { _meta: request.meta };
    const ofTool = { ...about, body: { ...body, ...ofClient } };
    return client.request("POST /tools/mcp/{server}/{tool}/call", { path, ...ofTool }, { signal });
  };
  return {
    tools: (scope, signal) =>
      orBackendError(async () => {
        const { tools } = await client.request("GET /tools/builtin", {}, { signal });
        if (scope === "platform") return tools;
        const [mcp, { agents }] = await Promise.all([
          client.request("GET /tools", {}, { signal }),
          client.request("GET /agents", {}, { signal }),
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

async function orBackendError<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { code, detail, data } = error.problem;
    throw new BackendError(code, detail, data, { cause: error });
  }
}
