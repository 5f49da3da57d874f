import type { Command } from "commander";
import { CliError, reportFailure } from "./cli-error.ts";
import type { Terminal } from "./terminal.ts";

/** With `--json` a wrong command line is told as any other failure is: as one JSON document on stderr. */
export function tellUsageAsJson(command: Command, terminal: Terminal): void {
  command.showHelpAfterError(false).configureOutput({
    outputError(text) {
      const message = text.replace(/^error: /, "").trim();
      reportFailure(terminal, new CliError("usage", message, { hint: "see: --help" }), true);
    },
  });
  for (const child of command.commands) tellUsageAsJson(child, terminal);
}
