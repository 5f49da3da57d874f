import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

/** `yard policy`. */
export function addPolicyCommands(program: Command, perform: Perform): void {
  const policy = program.command("policy").description("what the rules say; changes nothing");
  policy
    .command("explain <tool> [arguments]")
    .description("how the policy decides about a call, rule by rule")
    .option("--user <name>", "NATS user that calls, or that started the run (you)")
    .option("--agent <name>", "agent of the run; without it the user calls the tool itself")
    .option("--json", JSON_TEXT)
    .action((tool, args, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy.ts")).explain(terminal, tool, {
          ...options,
          args: args ?? "{}",
        }),
      ),
    );
  policy
    .command("test [file]")
    .description("run the tests beside a policy file, or those of the policy in force")
    .option("--json", JSON_TEXT)
    .action((file, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy.ts")).test(terminal, file, options),
      ),
    );
  policy
    .command("lint [file]")
    .description("find doubtful rules in a policy file, or in the policy in force")
    .option("--json", JSON_TEXT)
    .action((file, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy.ts")).lint(terminal, file, options),
      ),
    );
}
