import { builtConsole } from "@switchyard/console/build";
import type { StackReport } from "./stack-report.ts";

/** The folder of the console, built from its sources where it is older than they are. Null, with a warning, where that fails. */
export async function localConsole(report: StackReport): Promise<string | null> {
  return builtConsole(() => report.step("building the console")).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    report.warn(`the console cannot be built, so there is none: ${why}`);
    return null;
  });
}
