import { Option, type Command } from "commander";
import type { SkillClient } from "../skills/client-folders.ts";
import { JSON_TEXT, WIDE_TEXT, type Perform } from "./command-options.ts";

const SOURCE = "a directory, a zip, a tar or a tar.gz; - reads an archive from standard input";
const LINES_TEXT = "print one line of JSON for each skill, then one with the counts";

const CLIENTS: readonly SkillClient[] = ["openclaw", "claude", "clawft"];

const loadImport = () => import("../commands/skills-import.ts");
const loadStore = () => import("../commands/skills-store.ts");

/** The commands of `yard skills` for importing and for versions. */
export function addSkillStoreCommands(skills: Command, perform: Perform): void {
  addSourceCommands(skills, perform);
  addVersionCommands(skills, perform);
}

function addSourceCommands(skills: Command, perform: Perform): void {
  skills
    .command("import [source]")
    .description(`import skills of this machine: ${SOURCE}`)
    .addOption(
      new Option("--from <client>", "the skills that another client has on this machine").choices(
        CLIENTS,
      ),
    )
    .option("--dry-run", "do everything but store")
    .option("--json", LINES_TEXT)
    .action((source, options) =>
      perform(options, async (terminal) =>
        (await loadImport()).importSkills(terminal, source, options),
      ),
    );
  skills
    .command("scan <source>")
    .description("report what skills of this machine could do; needs no server")
    .option("--json", LINES_TEXT)
    .action((source: string, options: { json?: true }) =>
      perform(options, async (terminal) =>
        (await loadImport()).scanSkills(terminal, source, options),
      ),
    );
  skills
    .command("validate <source>")
    .description("hold skills of this machine against the rules of other clients; needs no server")
    .option("--target <target>", "fail unless they conform to agent-skills, claude-code, …")
    .option("--json", LINES_TEXT)
    .action((source: string, options: { target?: string; json?: true }) =>
      perform(options, async (terminal) =>
        (await loadImport()).validateSkills(terminal, source, options),
      ),
    );
}

function addVersionCommands(skills: Command, perform: Perform): void {
  skills
    .command("versions <name>")
    .description("the stored versions of a skill, the newest first")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((name: string, options: { json?: true; wide?: true }) =>
      perform(options, async (terminal) => (await loadStore()).versions(terminal, name, options)),
    );
  skills
    .command("rollback <name> [version]")
    .description(
      "make an older version of an imported skill the current one; without one that before it",
    )
    .option("--json", JSON_TEXT)
    .action((name: string, version: string | undefined, options: { json?: true }) =>
      perform(options, async (terminal) =>
        (await loadStore()).rollback(terminal, name, { ...options, version }),
      ),
    );
  skills
    .command("remove <name>")
    .description("take an imported skill off the list")
    .option("--json", JSON_TEXT)
    .action((name: string, options: { json?: true }) =>
      perform(options, async (terminal) => (await loadStore()).remove(terminal, name, options)),
    );
  skills
    .command("diff <name>")
    .description("compare two versions: text, files, capabilities and findings")
    .option("--from <digest>", "the version before the other one when it is missing")
    .option("--to <digest>", "the newest version when it is missing")
    .option("--json", JSON_TEXT)
    .action((name: string, options: { from?: string; to?: string; json?: true }) =>
      perform(options, async (terminal) => (await loadStore()).diff(terminal, name, options)),
    );
  skills
    .command("withheld")
    .description("the skills and agents that wait for your trust")
    .option("--json", JSON_TEXT)
    .action((options: { json?: true }) =>
      perform(options, async (terminal) => (await loadStore()).withheld(terminal, options)),
    );
  skills
    .command("trust <name>")
    .description("list a withheld skill; the trust holds for this version from this source")
    .option("--agent", "the name is an agent's")
    .option("--version <digest>", "the version that you looked at")
    .option("--reason <text>", "why; needed for one that the scanner blocks")
    .option("--json", JSON_TEXT)
    .action(
      (name: string, options: { agent?: true; version?: string; reason?: string; json?: true }) =>
        perform(options, async (terminal) => (await loadStore()).trust(terminal, name, options)),
    );
}
