import type { AskedTier, Risk } from "@switchyard/contracts/policy/approval-record";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { defaultTier } from "@switchyard/rules/layers/default-tier";

/**
 * The risk is high for a shell or when the rules require approval for each call, low for a built-in tool that only reads, and
 * medium otherwise: the effects of an MCP tool are known to its server alone.
 */
export function callRisk(tool: ToolRef, tier: AskedTier): Risk {
  const own = defaultTier(tool);
  if (tier === "always" || own === "always") return "high";
  return own === "auto" ? "low" : "medium";
}
