import { resolveBubblewrap } from "@switchyard/local-servers/resolve-bubblewrap";
import { CliError } from "../cli-error.ts";
import type { StackReport } from "./stack-report.ts";

/** The program that services sandbox commands with, brought when it is not installed. Null, and said, where that is impossible. */
export async function localBubblewrap(
  env: NodeJS.ProcessEnv,
  report: StackReport,
): Promise<string | null> {
  const found = await resolveBubblewrap({ env, log: report.detail }).catch((error: unknown) => {
    throw new CliError("usage", error instanceof Error ? error.message : String(error), {
      hint: "correct YARD_BWRAP_BIN, or unset it",
      cause: error,
    });
  });
  if ("binary" in found) {
    report.detail(`bubblewrap: using ${found.binary} ${found.version} (${found.source})`);
    return found.binary;
  }
  if (env["YARD_SANDBOX"] !== "off")
    report.warn(`there is no bubblewrap, so execute_command is off: ${found.reason}`);
  return null;
}
