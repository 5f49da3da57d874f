import type { AskedTier, Risk } from "@switchyard/contracts/approval-record";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { defaultTier } from "@switchyard/rules/layers/default-tier";

/**
 * High where a shell runs or the rules want a person for each call, low for a built-in tool that only reads,
 * medium for the rest: what an MCP server's tool does nobody but the server knows.
 */
export function callRisk(tool: ToolRef, tier: AskedTier): Risk {
  const own = defaultTier(tool);
  if (tier === "always" || own === "always") return "high";
  return own === "auto" ? "low" : "medium";
}
