import type { Command } from "commander";
import { formatOption, inFormat, JSON_TEXT, WIDE_TEXT, type Perform } from "./command-options.ts";

/** `yard agents`. */
export function addAgentCommands(program: Command, perform: Perform): void {
  const agents = program.command("agents").description("agent definitions");
  agents
    .command("list")
    .description("all agents, built-in ones included")
    .addOption(formatOption())
    .option("--json", JSON_TEXT)
    .action((given) => {
      const options = inFormat(given);
      return perform(options, async (terminal) =>
        (await import("../commands/agents.ts")).list(terminal, options),
      );
    });
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
    .command("tools <name>")
    .description("the tools that its file selects, and what the policy says about calling them")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/tool-overview.ts")).agentTools(terminal, name, options),
      ),
    );
  agents
    .command("use <name>")
    .description("the agent of yard chat from now on")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents.ts")).use(terminal, name, options),
      ),
    );
  agents
    .command("validate <path>")
    .description(
      "check an agent file, or those of a directory; where services run, their models, too",
    )
    .option("--json", JSON_TEXT)
    .action((path, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents-check.ts")).validate(terminal, path, options),
      ),
    );
  addStoreCommands(agents, perform);
  addVersionCommands(agents, perform);
}

function addStoreCommands(agents: Command, perform: Perform): void {
  agents
    .command("import <source>")
    .description(
      "send agents of this machine: a directory, a file, a zip, a tar.gz, or - for stdin",
    )
    .option("--dry-run", "do everything but store")
    .option("--json", "print one line of JSON for each agent, and one with the counts")
    .action((source: string, options: { dryRun?: true; json?: true }) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents-import.ts")).importAgents(terminal, source, options),
      ),
    );
  agents
    .command("scan <source>")
    .description("report what agents of this machine could do; nothing is imported")
    .option("--json", "print one line of JSON for each agent, and one with the counts")
    .action((source: string, options: { json?: true }) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents-import.ts")).scanAgents(terminal, source, options),
      ),
    );
  agents
    .command("remove <name>")
    .description("take an imported agent off the list")
    .option("--json", JSON_TEXT)
    .action((name: string, options: { json?: true }) =>
      perform(options, async (terminal) =>
        (await import("../commands/agents-store.ts")).remove(terminal, name, options),
      ),
    );
}

const loadStore = () => import("../commands/agents-store.ts");

function addVersionCommands(agents: Command, perform: Perform): void {
  agents
    .command("versions <name>")
    .description("the stored versions of an agent, the newest first")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((name: string, options: { json?: true; wide?: true }) =>
      perform(options, async (terminal) => (await loadStore()).versions(terminal, name, options)),
    );
  agents
    .command("rollback <name> [version]")
    .description(
      "make an older version of an imported agent the current one; without one that before it",
    )
    .option("--json", JSON_TEXT)
    .action((name: string, version: string | undefined, options: { json?: true }) =>
      perform(options, async (terminal) =>
        (await loadStore()).rollback(terminal, name, { ...options, version }),
      ),
    );
  agents
    .command("diff <name>")
    .description("compare two versions: what they say, capabilities and findings")
    .option("--from <digest>", "the version before the other one when it is missing")
    .option("--to <digest>", "the newest version when it is missing")
    .option("--json", JSON_TEXT)
    .action((name: string, options: { from?: string; to?: string; json?: true }) =>
      perform(options, async (terminal) => (await loadStore()).diff(terminal, name, options)),
    );
}
