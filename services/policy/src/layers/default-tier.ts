import type { ApprovalTier } from "@switchyard/contracts/approval-tier";
import { BUILTIN_TIERS, builtinNamed } from "@switchyard/contracts/toolbox";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/** Names of other runtimes for tools that write. */
const WRITES: ReadonlySet<string> = new Set(["write", "edit", "apply_patch"]);
const SHELLS: ReadonlySet<string> = new Set(["exec", "process"]);

/**
 * What a person has to do with a call when neither the rule that allows it nor the bundle's
 * defaults say it: a shell asks always, built-in tools that write ask once a session, the rest asks
 * nobody. What an MCP server says of its tools plays no part.
 */
export function defaultTier({ server, tool }: ToolRef): ApprovalTier {
  if (server !== null) return "auto";
  const builtin = builtinNamed(tool);
  if (builtin !== null) return BUILTIN_TIERS[builtin];
  if (SHELLS.has(tool)) return "always";
  return WRITES.has(tool) ? "session" : "auto";
}
