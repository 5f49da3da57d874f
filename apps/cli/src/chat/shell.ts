import { CommanderError, type Command } from "commander";
import { reportFailure } from "../cli-error.ts";
import type { BuildProgram } from "../program/command-options.ts";
import type { Terminal } from "../terminal.ts";

/** Commands that use the terminal themselves, or change what the chat depends on. */
const NOT_HERE = new Set(["acp", "chat", "dev", "demo", "help", "completion"]);

/** Commands of `yard` within a chat. */
export interface Shell {
  /** True for a command that a line of the chat may name, as in /runs list. */
  has(name: string): boolean;
  /** Runs a command; its failure is printed, and the chat continues. */
  run(terminal: Terminal, words: readonly string[]): Promise<void>;
}

export function createShell(build: BuildProgram): Shell {
  return {
    has(name) {
      const program = build(() => Promise.resolve());
      return !NOT_HERE.has(name) && program.commands.some((command) => command.name() === name);
    },
    async run(terminal, words) {
      const program = build(async (options, work) => {
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
    },
  };
}

function throughTerminal(command: Command, terminal: Terminal): void {
  command.configureOutput({
    writeOut: (text) => terminal.out(text.trimEnd()),
    writeErr: (text) => terminal.note(text.trimEnd()),
  });
  for (const child of command.commands) throughTerminal(child, terminal);
}
