import type { Log } from "@switchyard/service/log";
import type { ImportReport } from "./import-report.ts";

/** One line for an import, and one for each file that was skipped. */
export function logImport(log: Log, report: ImportReport): void {
  for (const { severity, code, message, file, line, column } of report.diagnostics) {
    const facts = { code, file, line, column, reason: message };
    if (severity === "error") log.warn(facts, "file skipped");
    else if (code.startsWith("withheld_")) log.warn(facts, "definition withheld");
    else if (code === "overridden" && report.hasChanged) log.warn(facts, "definition overridden");
    else log.debug(facts, "file remark");
  }
  log.info({ skills: report.skills, agents: report.agents }, "catalogue imported");
}
