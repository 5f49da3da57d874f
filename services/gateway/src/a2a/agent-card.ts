import { AgentCard } from "@a2a-js/sdk";
import { FILE_TYPES } from "@switchyard/contracts/agent-runner/content-parts";
import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";

/** The agent card of the A2A protocol, from which other agents learn how to call this one: https://a2a-protocol.org, version 1.0. */
export function agentCard(
  { name, description, digest }: Pick<AgentDefinition, "name" | "description" | "digest">,
  address: string,
): AgentCard {
  const modes = ["text/plain", "application/json"];
  return AgentCard.fromJSON({
    name,
    description,
    version: digest.slice("sha256:".length, "sha256:".length + 12),
    supportedInterfaces: [{ url: address, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: [...modes, ...FILE_TYPES],
    defaultOutputModes: modes,
    skills: [{ id: name, name, description, tags: ["switchyard"] }],
  });
}
