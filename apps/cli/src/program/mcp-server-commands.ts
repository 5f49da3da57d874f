import { InvalidArgumentError, type Command } from "commander";
import type { Perform } from "./command-options.ts";

interface Shared {
  readonly perform: Perform;
  /** The help text of `--json`. */
  readonly jsonText: string;
  readonly lines: (text: string) => number;
}

const load = () => import("../commands/mcp-servers.ts");

/** Declares the commands under `yard mcp` that look at single servers and change them. */
export function addMcpServerCommands(mcp: Command, shared: Shared): void {
  addReadingCommands(mcp, shared);
  addChangingCommands(mcp, shared);
  addSwitches(mcp, shared);
}

function addReadingCommands(mcp: Command, { perform, jsonText, lines }: Shared): void {
  mcp
    .command("get <server>")
    .description("one server with its declaration")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).get(terminal, server, options)),
    );
  mcp
    .command("check [server]")
    .description("exit 1 when a server that is enabled is not connected, and say why")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).check(terminal, server, options)),
    );
  mcp
    .command("logs <server>")
    .description("what the server's process wrote to stderr last")
    .option("--tail <n>", "how many lines", lines, 200)
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).logs(terminal, server, options)),
    );
}

function addChangingCommands(mcp: Command, { perform, jsonText }: Shared): void {
  mcp
    .command("add <server> [command...]")
    .description("add a server: --url for HTTP, or -- and the command for stdio")
    .option(
      "-e, --env <name=value>",
      "variable of the process; can be repeated",
      pair("=", "name=value"),
    )
    .option(
      "-H, --header <name:value>",
      "header of the requests; can be repeated",
      pair(":", "name: value"),
    )
    .option(
      "--url <url>",
      "address of a Streamable HTTP server; one in the place of the command will do",
    )
    .option("-t, --transport <kind>", "stdio, http or sse, where that cannot be seen")
    .option("-s, --scope <scope>", "shared, session or run; those of other clients are ignored")
    .option("--json", jsonText)
    .addHelpText(
      "after",
      "\nWrite '${VAR}' for a secret, in single quotes: the broker puts its own variable in.",
    )
    .showHelpAfterError(
      "(write -- in front of the server's command: mcp add notes -- npx -y some-server)",
    )
    .action((server, command, options) =>
      perform(options, async (terminal) =>
        (await load()).add(terminal, server, { ...options, command }),
      ),
    );
  for (const [name, description] of [
    ["add-json", "add a server as an MCP client's file has it"],
    ["update", "change fields of a server; null takes one out"],
  ] as const) {
    mcp
      .command(`${name} <server> <json>`)
      .description(description)
      .option("--json", jsonText)
      .action((server, text, options) =>
        perform(options, async (terminal) => {
          const commands = await load();
          const work = name === "update" ? commands.update : commands.addJson;
          return work(terminal, server, { ...options, text });
        }),
      );
  }
  mcp
    .command("remove <server>")
    .description("remove a server and wait until nothing of it runs")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).remove(terminal, server, options)),
    );
}

function addSwitches(mcp: Command, { perform, jsonText }: Shared): void {
  for (const enabled of [true, false]) {
    mcp
      .command(`${enabled ? "enable" : "disable"} <server>`)
      .description(`switch a server ${enabled ? "on" : "off"} for good`)
      .option("--json", jsonText)
      .action((server, options) =>
        perform(options, async (terminal) =>
          (await load()).enable(terminal, server, { ...options, enabled }),
        ),
      );
  }
  mcp
    .command("reset <server>")
    .description("forget what commands have changed, a removal too: the server file counts again")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).reset(terminal, server, options)),
    );
  mcp
    .command("connect <server>")
    .description("connect a server, anew when it is connected")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).connect(terminal, server, options)),
    );
  mcp
    .command("disconnect <server>")
    .description("end a connection until connect or the broker's next start")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).disconnect(terminal, server, options)),
    );
}

type Pairs = Readonly<Record<string, string>>;

function pair(separator: string, form: string): (text: string, pairs?: Pairs) => Pairs {
  return (text, pairs = {}) => {
    const at = text.indexOf(separator);
    if (at <= 0) throw new InvalidArgumentError(`It must look like ${form}.`);
    return {
      ...pairs,
      [text.slice(0, at).trim()]: text.slice(at + 1).replace(separator === ":" ? /^ +/ : /^$/, ""),
    };
  };
}
