import { Option, type Command } from "commander";
import { WIDE_TEXT, type Perform } from "./command-options.ts";

interface Shared {
  readonly perform: Perform;
  /** The help text of `--json`. */
  readonly jsonText: string;
}

const load = () => import("../commands/mcp-pins.ts");

const STATES = ["pending", "approved", "changed", "blocked"] as const;

/** Declares `yard mcp pins` and the commands around it. */
export function addMcpPinCommands(mcp: Command, { perform, jsonText }: Shared): void {
  mcp
    .command("refresh <server>")
    .description("read a server's tool list again")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).refresh(terminal, server, options)),
    );
  const pins = mcp
    .command("pins")
    .description("which definitions of a server's tools are approved");
  pins
    .command("list <server>")
    .description("the tools that the server ever listed, with states and findings")
    .addOption(new Option("--state <state>", "only these").choices(STATES))
    .option("--wide", WIDE_TEXT)
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).list(terminal, server, options)),
    );
  pins
    .command("diff <server> <tool>")
    .description("what differs between the approved and the listed definition")
    .option("--json", jsonText)
    .action((server, tool, options) =>
      perform(options, async (terminal) =>
        (await load()).diff(terminal, server, { ...options, tool }),
      ),
    );
  pins
    .command("approve <server> [tools...]")
    .description("approve what the server lists now; without tools all that are pending or changed")
    .option("--override <codes...>", "hard findings that are accepted, by their codes")
    .option("--digest <digest>", "approve one tool only if this is its digest, from list or diff")
    .option("--json", jsonText)
    .action((server, tools, options) =>
      perform(options, async (terminal) =>
        (await load()).approve(terminal, server, { ...options, tools }),
      ),
    );
  pins
    .command("block <server> <tools...>")
    .description("block tools, whatever definition the server lists")
    .option("--json", jsonText)
    .action((server, tools, options) =>
      perform(options, async (terminal) =>
        (await load()).block(terminal, server, { ...options, tools }),
      ),
    );
}
