import { CommanderError, type Command } from "commander";
import { reportFailure } from "../cli-error.ts";
import { buildProgram } from "../program.ts";
import type { Terminal } from "../terminal.ts";
import { VERSION } from "../version.ts";

/** Commands that use the terminal themselves, or change what the chat depends on. */
const NOT_HERE = new Set(["acp", "chat", "dev", "demo", "help", "completion"]);

/** True for a command of `yard` that a line of the chat may name, as in /runs list. */
export function isShellCommand(name: string): boolean {
  const program = buildProgram(VERSION, () => Promise.resolve());
  return !NOT_HERE.has(name) && program.commands.some((command) => command.name() === name);
}

/** Runs a command of `yard` within the chat; its failure is printed, and the chat continues. */
export async function runShellCommand(terminal: Terminal, words: readonly string[]): Promise<void> {
  const program = buildProgram(VERSION, async (options, work) => {
    try {
      await work(terminal);
    } catch (error) {
      reportFailure(terminal, error, options.json ?? false);
    }
  });
  throughTerminal(program, terminal);
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error; // commander has printed its message
  }
}

function throughTerminal(command: Command, terminal: Terminal): void {
  command.configureOutput({
    writeOut: (text) => terminal.out(text.trimEnd()),
    writeErr: (text) => terminal.note(text.trimEnd()),
  });
  for (const child of command.commands) throughTerminal(child, terminal);
}
