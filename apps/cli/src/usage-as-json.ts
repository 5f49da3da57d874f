import type { Command } from "commander";
import { CliError, reportFailure } from "./cli-error.ts";
import type { Terminal } from "./terminal.ts";

/** With `--json` a wrong command line is reported as any other failure is: as one JSON document on stderr. */
export function reportUsageAsJson(command: Command, terminal: Terminal): void {
  command.showHelpAfterError(false).configureOutput({
    outputError(text) {
      // Every command takes it, and no group of commands does.
      const message = text.includes("unknown option '--json'")
        ? "the command is missing or not whole"
        : text.replace(/^error: /, "").trim();
      reportFailure(terminal, new CliError("usage", message, { hint: "see: --help" }), true);
    },
  });
  for (const child of command.commands) reportUsageAsJson(child, terminal);
}
