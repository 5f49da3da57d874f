import { CommanderError } from "commander";
import { reportFailure } from "./cli-error.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { buildProgram } from "./program.ts";
import type { Perform } from "./program/command-options.ts";
import { processTerminal } from "./terminal.ts";
import { tellUsageAsJson } from "./usage-as-json.ts";

const VERSION = "0.1.0";

const terminal = processTerminal();
let exitCode: ExitCode = EXIT.ok;

const perform: Perform = async (options, work) => {
  try {
    exitCode = (await work(terminal)) ?? EXIT.ok;
  } catch (error) {
    exitCode = reportFailure(terminal, error, options.json ?? false);
  }
};

// A reader that has seen enough (`yard mcp tools | head`) is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
  });
}

try {
  const program = buildProgram(VERSION, perform);
  if (process.argv.includes("--json")) tellUsageAsJson(program, terminal);
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // commander has printed its message; help and version come here too, with 0.
  exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}
process.exitCode = exitCode;
