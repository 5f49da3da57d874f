import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { clientTool } from "@switchyard/contracts/mcp-broker/client-tool";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { ServiceError } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { listQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { claimSession } from "@switchyard/contracts/agent-runner/session-claims";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { callBuiltin, listBuiltins } from "@switchyard/contracts/toolbox/toolbox";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import {
  AGENT_SECONDS,
  AGENT_TOOL,
  agentMessage,
  agentReply,
  agentTool,
  BackendError,
  serverOf,
  type Backend,
  type CallRequest,
} from "./backend.ts";
import type { SessionClaims } from "./environment.ts";
import { sessionToken } from "./session-token.ts";

/**
 * The tools over NATS, as the bus's user or, with a run token, as the token's run; with claims, under the rules of the session that they are
 * about.
 */
export function natsBackend(
  bus: Bus,
  { runToken, claims }: { readonly runToken: string | null; readonly claims: SessionClaims | null },
): Backend {
  const claimed = sessionToken(claims, {
    claim: (about, signal) => call(bus, claimSession, about, { signal }),
    codeOf: (error) => (error instanceof ServiceError ? error.code : null),
  });
  const tokenFor = async (signal: AbortSignal) =>
    runToken === null ? claimed(signal) : { token: runToken };
  return {
    tools: (scope, signal) =>
      orBackendError(async () => {
        const token = await tokenFor(signal);
        const { tools } = await call(bus, listBuiltins, token, { signal });
        if (scope === "platform") return tools;
        const mcp = await call(bus, listTools, token, { signal });
        // A run starts others with the tools of its runner.
        const agents =
          token.token === undefined ? await call(bus, listAgents, {}, { signal }) : NO_AGENTS;
        const ofServers = mcp.tools.map((tool) => clientTool(tool, tool.name));
        return [...tools, ...ofServers, ...agents.agents.map(agentTool)];
      }),
    call: (request) =>
      orBackendError(async () => send(bus, await tokenFor(request.signal), request)),
    questions: (server, signal) =>
      orBackendError(
        async () => (await call(bus, listQuestions, { server }, { signal })).questions,
      ),
    close: () => bus.close(),
  };
}

const NO_AGENTS = { agents: [] };

async function send(bus: Bus, token: { readonly token?: string }, request: CallRequest) {
  const { name, args, callId, timeoutMs, signal } = request;
  if (name.startsWith(AGENT_TOOL)) {
    const message = { ...agentMessage(request), timeoutSeconds: AGENT_SECONDS };
    const options = { signal, timeoutMs: AGENT_SECONDS * 1_000 + 5_000 };
    return agentReply(await call(bus, sendToSession, message, options));
  }
  const message = { tool: name, args, callId, ...token };
  const server = serverOf(name);
  if (server === null) return call(bus, callBuiltin, message, { timeoutMs, signal });
  const ofClient = request.meta === undefined ? {} : { _meta: request.meta };
  return callMcpTool(bus, { ...message, ...ofClient }, { tokens: { server }, signal });
}

async function orBackendError<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new BackendError(error.code, error.message, error.data, { cause: error });
  }
}
