import type { Log } from "@switchyard/service/log";
import type { ImportReport } from "./import-report.ts";

/**
 * Logs imports. An import with the same report as the one before is not logged again: in a watched project a file may change all
 * the time, and it may even be this log.
 */
export function importLog(log: Log): (report: ImportReport) => void {
  let last = "";
  return (report) => {
    const summary = JSON.stringify([report.skills, report.agents, report.diagnostics]);
    if (!report.hasChanged && summary === last) return;
    last = summary;
    logImport(log, report);
  };
}

/** Something that may be a skill was not read, or not as one. */
const NOT_READ = new Set([
  "dangling_link",
  "frontmatter_not_recognised",
  "scan_limit",
  "skill_file_name",
  "symlink_escape",
  "unreadable_directory",
]);

/** One line for an import, and one for each file that was skipped. */
function logImport(log: Log, report: ImportReport): void {
  for (const { severity, code, message, file, line, column } of report.diagnostics) {
    const facts = { code, file, line, column, reason: message };
    if (severity === "error" || code === "duplicate_name") log.warn(facts, "file skipped");
    else if (code === "last_good") log.warn(facts, "last good version stays listed");
    else if (code.startsWith("withheld_")) log.warn(facts, "definition withheld");
    else if (code === "overridden" && report.hasChanged) log.warn(facts, "definition overridden");
    else if (NOT_READ.has(code)) log.warn(facts, "file remark");
    else log.debug(facts, "file remark");
  }
  log.info({ skills: report.skills, agents: report.agents }, "catalogue imported");
}
