import { client, type Client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { recallMemory } from "@switchyard/contracts/agent-memory";
import { getAgent } from "@switchyard/contracts/agents";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp";
import { cancelCall } from "@switchyard/contracts/mcp-calls";
import { grantRun } from "@switchyard/contracts/policy-grants";
import { skillCatalogue } from "@switchyard/contracts/skill-catalogue";
import { getSkill, renderSkill } from "@switchyard/contracts/skills";
import { callBuiltin, cancelBuiltin, listBuiltins } from "@switchyard/contracts/toolbox";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";

const contracts = {
  getAgent,
  skillCatalogue,
  renderSkill,
  getSkill,
  grantRun,
  listTools,
  callTool,
  cancelCall,
  listBuiltins,
  callBuiltin,
  cancelBuiltin,
  recallMemory,
};

/** The services that a runner asks. */
export type Peers = Client<typeof contracts>;

export function createPeers(bus: Bus): Peers {
  return {
    ...client(bus, contracts),
    callTool: (request, options) => {
      if (options?.tokens === undefined) throw new TypeError("a tool call needs its server");
      return callMcpTool(bus, request, { ...options, tokens: options.tokens });
    },
  };
}

/** True when a service did not do its work, but may do it later: it is down, full or out of reach. */
export function isOutage(error: unknown): boolean {
  return error instanceof ServiceError && OUTAGES.has(error.code);
}

const OUTAGES: ReadonlySet<string> = new Set([
  "timeout",
  "no_responders",
  "disconnected",
  "overloaded",
  "deadline_exceeded",
  "internal",
  "policy_unavailable",
  "store_unavailable",
]);
