import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

/** `yard agents`. */
export function addAgentCommands(program: Command, perform: Perform): void {
  const agents = program.command("agents").description("agent definitions");
  agents
    .command("list")
    .description("all agents, built-in ones included")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents.ts")).list(terminal, options),
      ),
    );
  agents
    .command("show <name>")
    .description("one agent with its prompt")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents.ts")).show(terminal, name, options),
      ),
    );
  agents
    .command("validate <path>")
    .description("judge an agent file, or those of a directory, and their models")
    .option("--json", JSON_TEXT)
    .action((path, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents-check.ts")).validate(terminal, path, options),
      ),
    );
  agents
    .command("import <dir>")
    .description("import the agents, and skills, below a directory of the importer")
    .option("--dry-run", "do everything but store")
    .option("--json", JSON_TEXT)
    .action((directory, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents-check.ts")).importAgents(terminal, directory, options),
      ),
    );
}
