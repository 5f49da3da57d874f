import type { Command } from "commander";
import { buildProgram } from "../src/program.ts";

/** Parses a command line without executing it; rejects when yard refuses it. */
export function parseCommandLine(...args: string[]): Promise<unknown> {
  const program = buildProgram("0.0.0", () => Promise.resolve());
  silence(program);
  return program.parseAsync(args, { from: "user" });
}

function silence(command: Command): void {
  command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const child of command.commands) silence(child);
}
