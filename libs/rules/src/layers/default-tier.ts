import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import { BUILTIN_TIERS, builtinNamed } from "@switchyard/contracts/toolbox/toolbox";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/** Names that other providers and runtimes give to tools that run commands. */
const SHELLS: ReadonlySet<string> = new Set(["exec", "process", "shell", "bash"]);

/** Platform tools that only read, and `agent`: each call that its child run makes is decided by itself. */
const READS: ReadonlySet<string> = new Set(
  (
    "agent child_runs subagents agents_list skill find_tools read " +
    "sessions_list sessions_history session_status message_read memory_search " +
    "cron_list cron_status cron_runs gateway_status gateway_config_get gateway_config_schema"
  ).split(" "),
);

/**
 * Returns the approval that a call needs when neither the rule that allows it nor the bundle's defaults set one: reads need none,
 * writes need one a session, a shell needs one for each call. An MCP tool needs one a session: only its server states what it
 * does, and a server's annotation (`readOnlyHint`) never lowers a tier.
 */
export function defaultTier({ server, tool }: ToolRef): ApprovalTier {
  if (server !== null) return "session";
  const builtin = builtinNamed(tool);
  if (builtin !== null) return BUILTIN_TIERS[builtin];
  if (SHELLS.has(tool)) return "always";
  return READS.has(tool) ? "auto" : "session";
}
