import { resolveBubblewrap } from "@switchyard/local-servers/resolve-bubblewrap";
import { findBubblewrap } from "@switchyard/service/process/sandbox";
import { CliError } from "../cli-error.ts";
import { messageOf, type StackReport } from "./stack-report.ts";

/**
 * Finds the program that services make sandboxes with, and downloads it when it is not installed. Null where that is impossible or
 * no sandbox works; the report explains the consequence.
 */
export async function localBubblewrap(
  env: NodeJS.ProcessEnv,
  report: StackReport,
): Promise<string | null> {
  const found = await resolveBubblewrap({ env, log: report.detail }).catch((error: unknown) => {
    throw new CliError("usage", error instanceof Error ? error.message : String(error), {
      hint: "correct YARD_BIN_DIR, or unset it",
      cause: error,
    });
  });
  if ("reason" in found) return without(found.reason, env, report);
  const { binary, version, source } = found;
  try {
    await findBubblewrap({ program: binary, path: env["PATH"] ?? "" });
  } catch (error) {
    return without(messageOf(error), env, report);
  }
  report.detail(`bubblewrap: using ${binary} ${version} (${source})`);
  return binary;
}

/** True where the person lets commands run without a sandbox. */
export function runsUnboxed({ YARD_SANDBOX: setting = "" }: NodeJS.ProcessEnv): boolean {
  return setting === "off" || setting === "full-control";
}

function without(reason: string, env: NodeJS.ProcessEnv, report: StackReport): null {
  const effects = [
    ...(runsUnboxed(env) ? [] : ["execute_command is off"]),
    ...(env["YARD_MCP_SANDBOX"] === "off"
      ? []
      : ["MCP servers are trusted: they run with your rights, as in other MCP clients"]),
  ];
  if (effects.length > 0)
    report.warn(`there is no sandbox here, so ${effects.join(", and ")} (${reason})`);
  return null;
}
