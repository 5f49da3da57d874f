import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

/** `yard agents` and `yard skills`. */
export function addDefinitionCommands(program: Command, perform: Perform): void {
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
  const skills = program.command("skills").description("skills");
  skills
    .command("list")
    .description("the imported skills")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skills.ts")).list(terminal, options),
      ),
    );
  skills
    .command("show <name>")
    .description("one skill with its text")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skills.ts")).show(terminal, name, options),
      ),
    );
  skills
    .command("check <dir>")
    .description("judge the skill files below a directory of the importer; nothing is imported")
    .option("--target <target>", "only agent-skills, claude-code, claude-ai, openclaw or clawhub")
    .option("--json", JSON_TEXT)
    .action((directory, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skills.ts")).check(terminal, directory, options),
      ),
    );
  skills
    .command("render <name> [arguments...]")
    .description("the text that an agent gets for these arguments")
    .option("--json", JSON_TEXT)
    .action((name, words, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skills.ts")).render(terminal, name, { ...options, words }),
      ),
    );
}
