import type { Command } from "commander";
import { JSON_TEXT, seconds, wholeNumber, type Perform } from "./command-options.ts";

/** `yard skills match`, `manifest`, `budget` and `run`: what is computed from the catalogue, and using one. */
export function addSkillViewCommands(skills: Command, perform: Perform): void {
  skills
    .command("match <text...>")
    .description("the skills that fit a text, the best first")
    .option("--limit <n>", "how many", wholeNumber(1, 100), 10)
    .option("--json", JSON_TEXT)
    .action((words, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skill-views.ts")).match(terminal, words, options),
      ),
    );
  skills
    .command("manifest [name]")
    .description("skills as a plugin registry shows them, with their slash commands")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skill-views.ts")).manifest(terminal, name, options),
      ),
    );
  skills
    .command("run <name> [arguments...]")
    .description("run an agent with a skill as its task, and follow it")
    .option("--agent <name>", "which agent", "default")
    .option("--model <provider/model>", "model in place of the agent's own")
    .option("--no-wait", "print the run id and do not follow")
    .option("--wait-for <seconds>", "limit of the run, and of waiting for it", seconds)
    .option("--json", "print the events as lines of JSON")
    .action((name, words, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skill-views.ts")).runSkill(terminal, name, {
          ...options,
          words,
        }),
      ),
    );
}
