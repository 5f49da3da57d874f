import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

const load = () => import("../commands/config.ts");
const ORIGIN = ["--show-origin", "also where a value comes from"] as const;

/** `yard config`, `context`, `completion`, `help` and `version`: the command line itself. */
export function addConfigCommands(program: Command, perform: Perform): void {
  const config = program.command("config").description("settings of the command line");
  config
    .command("list")
    .description("all settings with their values")
    .option(...ORIGIN)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  config
    .command("get <name>")
    .description("one setting")
    .option(...ORIGIN)
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) => (await load()).get(terminal, name, options)),
    );
  config
    .command("set <name> <value>")
    .description("change a setting; an empty value takes it out")
    .option("--project", "in the file of the project, not in yours")
    .option("--json", JSON_TEXT)
    .action((name, value, options) =>
      perform(options, async (terminal) =>
        (await load()).set(terminal, name, { ...options, value }),
      ),
    );
  addContextCommands(program, perform);
  addOwnCommands(program, perform);
}

function addContextCommands(program: Command, perform: Perform): void {
  const context = program.command("context").description("which installation the commands talk to");
  context
    .command("list")
    .description("the contexts, and which one is in use")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).listContexts(terminal, options)),
    );
  context
    .command("add <name>")
    .description("remember an installation under a name")
    .option("--nats <url>", "address of its NATS server")
    .option("--user <name>", "NATS user (cli)")
    .option("--nkey-file <file>", "file with that user's NKey seed")
    .option("--http <url>", "address of its gateway, in place of NATS")
    .option("--key-file <file>", "file with an API key of the gateway")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) => (await load()).addContext(terminal, name, options)),
    );
  context
    .command("use <name>")
    .description("talk to this installation from now on; local is the one of this machine")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) => (await load()).useContext(terminal, name, options)),
    );
  context
    .command("remove <name>")
    .description("forget an installation")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) => (await load()).removeContext(terminal, name, options)),
    );
}

function addOwnCommands(program: Command, perform: Perform): void {
  program
    .command("login <url>")
    .description(
      "use an installation over HTTP: keeps an API key of its gateway, and a context for it",
    )
    .option("--name <name>", "of the context (the name of the host)")
    .option("--key-file <file>", "file with the key; - for standard input (asks for it)")
    .option("--json", JSON_TEXT)
    .action((url, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/login.ts")).login(terminal, url, options),
      ),
    );
  program
    .command("logout <name>")
    .description("forget a context over HTTP and its API key")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/login.ts")).logout(terminal, name, options),
      ),
    );
  program
    .command("completion <shell>")
    .description("a script that completes commands, options and names: bash, zsh or fish")
    .option("--json", JSON_TEXT)
    .action((shell, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/completion.ts")).completion(terminal, shell, options),
      ),
    );
  program
    .command("help [topic...]")
    .description("a topic, or a command")
    .option("--json", JSON_TEXT)
    .action((words, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/help.ts")).help(terminal, words, { program, ...options }),
      ),
    );
  program
    .command("version")
    .description("the versions of yard, Node.js and of the services that answer")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/version.ts")).version(terminal, options),
      ),
    );
}
