import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";
import { addPolicyChangeCommands } from "./policy-change-commands.ts";

/** `yard policy`. */
export function addPolicyCommands(program: Command, perform: Perform): void {
  const policy = program
    .command("policy")
    .description("what the rules say, which are in force, and the kill switch");
  policy
    .command("explain <tool> [arguments]")
    .description("how the policy decides about a call, rule by rule")
    .option("--user <name>", "NATS user that calls, or that started the run (you)")
    .option("--agent <name>", "agent of the run; without it the user calls the tool itself")
    .option("--role <role...>", "roles of the agent")
    .option("--file <path>", "by the rules of a file or directory instead; needs no server")
    .option(
      "--run <id>",
      "as this run's agent and user, with what it used of its budgets and touched",
    )
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
    .command("check <tool> [arguments]")
    .description("the decision alone; exits 0 when it is allowed and 4 when it is not")
    .option("--user <name>", "NATS user that calls, or that started the run (you)")
    .option("--agent <name>", "agent of the run; without it the user calls the tool itself")
    .option("--role <role...>", "roles of the agent")
    .option("--file <path>", "by the rules of a file or directory instead; needs no server")
    .option(
      "--run <id>",
      "as this run's agent and user, with what it used of its budgets and touched",
    )
    .option("--json", JSON_TEXT)
    .action((tool, args, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy.ts")).check(terminal, tool, {
          ...options,
          args: args ?? "{}",
        }),
      ),
    );
  addPolicyChangeCommands(policy, perform);
  policy
    .command("test [file]")
    .description(
      "run the tests of a policy file or directory, which needs no server, or those in force",
    )
    .option("--json", JSON_TEXT)
    .action((file, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy.ts")).test(terminal, file, options),
      ),
    );
  policy
    .command("lint [file]")
    .description(
      "find doubtful rules in a file or directory, which needs no server, or in the policy in force",
    )
    .option("--json", JSON_TEXT)
    .action((file, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy.ts")).lint(terminal, file, options),
      ),
    );
  addTranslationCommands(policy, perform);
}

function addTranslationCommands(policy: Command, perform: Perform): void {
  policy
    .command("import <language> <file>")
    .description("write rules that allow at most what policies of cedar or dogwood allow")
    .option("--resource <entity>", "the resource of the policies that is this installation")
    .option("--json", JSON_TEXT)
    .action((language, file, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy-cedar.ts")).importPolicies(
          terminal,
          language,
          file,
          options,
        ),
      ),
    );
  policy
    .command("export <language> <path>")
    .description("write the rules of a file or directory as policies of cedar, for review")
    .option("--json", JSON_TEXT)
    .action((language, path, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy-cedar.ts")).exportPolicies(
          terminal,
          language,
          path,
          options,
        ),
      ),
    );
}
