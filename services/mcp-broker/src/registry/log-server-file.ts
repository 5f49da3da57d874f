import type { Log } from "@switchyard/service/log";
import type { ServerFile } from "@switchyard/project/mcp-servers/server-file";

/** Logs what of the server file cannot be used, and what counts for nothing. */
export function logServerFile({ entries, warnings }: ServerFile, log: Log): void {
  for (const { id, problem, warnings: ofServer } of entries) {
    if (problem !== null) log.error({ server: id, problem }, "mcp server skipped");
    for (const warning of ofServer) log.warn({ server: id, warning }, "mcp server file");
  }
  for (const warning of warnings) log.warn({ warning }, "mcp server file");
}
