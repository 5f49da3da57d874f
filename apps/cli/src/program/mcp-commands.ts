import { InvalidArgumentError, type Command } from "commander";
import { JSON_TEXT, seconds, wholeNumber, type Perform } from "./command-options.ts";
import { addMcpFeatureCommands } from "./mcp-feature-commands.ts";
import { addMcpLoginCommands } from "./mcp-login-commands.ts";
import { addMcpPinCommands } from "./mcp-pin-commands.ts";
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
    .option("--findings", "add what is remarkable about each definition")
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/mcp.ts")).tools(terminal, server, options),
      ),
    );
  mcp
    .command("call <server> <tool> [arguments]")
    .description("call a tool under the policy; the arguments are a JSON object")
    .option("--timeout <seconds>", "how long to wait", seconds)
    .option("--progress", "show how far the call is, when the server tells it")
    .option("--call-id <id>", "make the call once, whatever is repeated; mcp cancel takes the id")
    .option("--approval <id>", "the approval that an earlier attempt asked for")
    .option("--json", JSON_TEXT)
    .action((server, tool, args, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/mcp.ts")).call(terminal, server, {
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
  addMcpFeatureCommands(mcp, perform);
  addMcpLoginCommands(mcp, { perform, jsonText: JSON_TEXT });
  addMcpPinCommands(mcp, { perform, jsonText: JSON_TEXT });
  addMcpServerCommands(mcp, { perform, jsonText: JSON_TEXT, lines: wholeNumber(1, 10_000) });
}

function servedTools(text: string): "platform" | "all" {
  if (text === "platform" || text === "all") return text;
  throw new InvalidArgumentError("It can be platform or all.");
}
