import type { ApprovalTier } from "@switchyard/contracts/approval-tier";
import { BUILTIN_TIERS, builtinNamed } from "@switchyard/contracts/toolbox";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/** Names that other providers and runtimes give to tools that run commands. */
const SHELLS: ReadonlySet<string> = new Set(["exec", "process", "shell", "bash"]);

/** Platform tools that only read, and `agent`: each call that its child run makes is decided by itself. */
const READS: ReadonlySet<string> = new Set(
  (
    "agent subagents agents_list skill find_tools read " +
    "sessions_list sessions_history session_status message_read memory_search " +
    "cron_list cron_status cron_runs gateway_status gateway_config_get gateway_config_schema"
  ).split(" "),
);

/**
 * What a person has to do with a call when neither the rule that allows it nor the bundle's defaults say it:
 * reads ask nobody, writes ask once a session, a shell asks always. An MCP tool asks once a session: nobody but its
 * server says what it does, and what a server says (`readOnlyHint`) never lowers a tier.
 */
export function defaultTier({ server, tool }: ToolRef): ApprovalTier {
  if (server !== null) return "session";
  const builtin = builtinNamed(tool);
  if (builtin !== null) return BUILTIN_TIERS[builtin];
  if (SHELLS.has(tool)) return "always";
  return READS.has(tool) ? "auto" : "session";
}
