import { InvalidArgumentError, Option, type Command } from "commander";
import { MCP_CLIENTS } from "../mcp-clients/client-formats.ts";
import { JSON_TEXT, seconds, wholeNumber, type Perform } from "./command-options.ts";
import { addMcpFeatureCommands } from "./mcp-feature-commands.ts";
import { addMcpLoginCommands } from "./mcp-login-commands.ts";
import { addMcpPinCommands } from "./mcp-pin-commands.ts";
import { addMcpSecretCommands } from "./mcp-secret-commands.ts";
import { addMcpServerCommands } from "./mcp-server-commands.ts";

/** `yard mcp`. */
export function addMcpCommands(program: Command, perform: Perform): void {
  const mcp = program.command("mcp").description("MCP servers and their tools");
  mcp
    .command("list")
    .description("the configured servers with their true status")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/mcp.ts")).servers(terminal, options),
      ),
    );
  mcp
    .command("tools [server]")
    .description("the tools that the policy lets you call")
    .option(
      "--all",
      "all tools of the connected servers, with what the policy says of a call of yours",
    )
    .option("--findings", "add what is remarkable about each definition")
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) =>
        options.all === true
          ? (await import("../commands/mcp-all-tools.ts")).allTools(terminal, server, options)
          : (await import("../commands/mcp.ts")).tools(terminal, server, options),
      ),
    );
  mcp
    .command("call <server> <tool> [arguments]")
    .description("call a tool under the policy; the arguments are a JSON object")
    .option("--timeout <seconds>", "how long to wait", seconds)
    .option("--progress", "show the progress of the call, if the server reports it")
    .option("--call-id <id>", "make the call once, whatever is repeated; mcp cancel takes the id")
    .option("--approval <id>", "the approval that an earlier attempt asked for")
    .option("--json", JSON_TEXT)
    .action((server, tool, args, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/mcp-call.ts")).call(terminal, server, {
          ...options,
          tool,
          args: args ?? "{}",
        }),
      ),
    );
  mcp
    .command("cancel <server> <callId>")
    .description("end a call of yours that was made with --call-id")
    .option("--json", JSON_TEXT)
    .action((server, callId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/mcp-cancel.ts")).cancel(terminal, server, {
          ...options,
          callId,
        }),
      ),
    );
  mcp
    .command("serve")
    .description("an MCP server on standard input and output, for coding agents")
    .option("--tools <which>", "platform tools, or all that you may use", servedTools, "platform")
    .action((options) =>
      perform(options, async () => (await import("../commands/mcp-serve.ts")).serve(options)),
    );
  addClientCommands(mcp, perform);
  addMcpFeatureCommands(mcp, perform);
  addMcpLoginCommands(mcp, { perform, jsonText: JSON_TEXT });
  addMcpPinCommands(mcp, { perform, jsonText: JSON_TEXT });
  addMcpSecretCommands(mcp, { perform, jsonText: JSON_TEXT });
  addMcpServerCommands(mcp, { perform, jsonText: JSON_TEXT, lines: wholeNumber(1, 10_000) });
}

function servedTools(text: string): "platform" | "all" {
  if (text === "platform" || text === "all") return text;
  throw new InvalidArgumentError("It can be platform or all.");
}

function clientOption() {
  return new Option("--client <client>", "whose configuration")
    .choices(MCP_CLIENTS)
    .makeOptionMandatory();
}

const loadClients = () => import("../commands/mcp-clients.ts");

function addClientCommands(mcp: Command, perform: Perform): void {
  mcp
    .command("import [servers...]")
    .description("add the MCP servers that another client has, all or those that are named")
    .addOption(clientOption())
    .option("--file <file>", "its file (where the client looks for it from here)")
    .option("--dry-run", "report what would be added, and add nothing")
    .option("--json", JSON_TEXT)
    .action((servers, options) =>
      perform(options, async (terminal) =>
        (await loadClients()).importFrom(terminal, servers, options),
      ),
    );
  mcp
    .command("export")
    .description(
      "write this installation into the configuration of another client, as an MCP server",
    )
    .addOption(clientOption())
    .option("--file <file>", "its file (where the client looks for it from here)")
    .option("--url <url>", "address of the MCP endpoint (that of yard dev)")
    .option("--print", "print the file as it would be, and write nothing")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadClients()).exportTo(terminal, options)),
    );
}
