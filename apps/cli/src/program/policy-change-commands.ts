/* oxlint-disable unicorn/consistent-function-scoping -- each helper serves only its enclosing function */
import type { Command } from "commander";
import { addReplayCommand } from "./audit-commands.ts";
import { JSON_TEXT, WIDE_TEXT, type Perform } from "./command-options.ts";

/** The commands of `yard policy` that change something, and those that list the changes. */
export function addPolicyChangeCommands(policy: Command, perform: Perform): void {
  const load = () => import("../commands/policy-change.ts");
  policy
    .command("who-can <tool>")
    .description("who may call a tool, by which rules, and what takes some out")
    .option("--json", JSON_TEXT)
    .action((tool, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy-who-can.ts")).whoCan(terminal, tool, options),
      ),
    );
  policy
    .command("rules")
    .description("the rules in force in words: for whom, about what, with which arguments")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy-rules.ts")).rules(terminal, options),
      ),
    );
  policy
    .command("activate [path]")
    .description("bring a policy file, a directory or an earlier version into force everywhere")
    .option("--version <number>", "a version of yard policy versions")
    .option("--follow-files", "go back to the files of the service")
    .option("--note <text>", "why, for the list of versions")
    .option("--json", JSON_TEXT)
    .action((path, options) =>
      perform(options, async (terminal) => (await load()).activate(terminal, path, options)),
    );
  policy
    .command("rollback")
    .description("bring the bundle before the present one back")
    .option("--note <text>", "why, for the list of versions")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).rollback(terminal, options)),
    );
  policy
    .command("versions")
    .description("the bundles that were in force, the newest first")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).versions(terminal, options)),
    );
  policy
    .command("keys")
    .description("the keys of run tokens: which signs, which are accepted, which were revoked")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy-keys.ts")).keys(terminal, options),
      ),
    );
  addReplayCommand(policy, perform);
  addStopCommands(policy, perform);
}

function addStopCommands(policy: Command, perform: Perform): void {
  const load = () => import("../commands/policy-change.ts");
  const scoped = (name: string) =>
    policy
      .command(name)
      .option("--all", "every tool call")
      .option("--agent <name>", "calls of this agent's runs")
      .option("--run <id>", "calls of this run and of those it started")
      .option("--server <id>", "calls of this MCP server's tools")
      .option("--user <name>", "calls of this NATS user, and of runs that it started")
      .option("--json", JSON_TEXT);
  scoped("stop")
    .description("the kill switch: deny these calls on every replica, at once")
    .requiredOption("--reason <text>", "the reason, shown for each denied call")
    .action((options) =>
      perform(options, async (terminal) => (await load()).stop(terminal, options)),
    );
  scoped("resume")
    .description("end a stop")
    .action((options) =>
      perform(options, async (terminal) => (await load()).resume(terminal, options)),
    );
  policy
    .command("stops")
    .description("what is stopped")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).stops(terminal, options)),
    );
}
