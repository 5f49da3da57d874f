import { Option, type Command } from "commander";
import {
  formatOption,
  inFormat,
  JSON_TEXT,
  SKILL_SCOPES,
  wholeNumber,
  type Perform,
} from "./command-options.ts";
import { addSkillStoreCommands } from "./skill-store-commands.ts";
import { addSkillViewCommands } from "./skill-view-commands.ts";

const WINDOW = wholeNumber(1_024, 100_000_000);

/** `yard skills`. */
export function addDefinitionCommands(program: Command, perform: Perform): void {
  const skills = program.command("skills").description("skills");
  skills
    .command("list")
    .description("the imported skills")
    .addOption(
      new Option("--scope <scope>", "only those from there")
        .choices([...SKILL_SCOPES, "all"] as const)
        .default("all"),
    )
    .addOption(formatOption())
    .option("--budget", "instead, what each costs a model, and what of the list is cut")
    .option("--window <tokens>", "with --budget: for a model with so large a window", WINDOW)
    .option("--json", JSON_TEXT)
    .action((given) => {
      const options = inFormat(given);
      return perform(options, async (terminal) =>
        options.budget
          ? (await import("../commands/skill-views.ts")).budget(terminal, options)
          : (await import("../commands/skill-listing.ts")).list(terminal, options),
      );
    });
  skills
    .command("show <name>")
    .description("one skill with its text, or a file that lies with it")
    .option("--version <digest>", "a version, also one that is withheld; else the listed one")
    .option("--file <path>", "the text of this file instead, such as scripts/run.sh")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/skill-listing.ts")).show(terminal, name, options),
      ),
    );
  skills
    .command("check <dir>")
    .description("check the skill files below a directory of the importer; nothing is imported")
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
  addSkillViewCommands(skills, perform);
  addSkillStoreCommands(skills, perform);
}
