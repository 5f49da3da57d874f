import type { Command } from "commander";
import { JSON_TEXT, seconds, type Perform } from "./command-options.ts";

/** `yard tools`. */
export function addToolCommands(program: Command, perform: Perform): void {
  const tools = program.command("tools").description("built-in tools: files, commands, pages");
  tools
    .command("list")
    .description("the built-in tools that the policy lets you call")
    .option("--all", "every tool here, those of MCP servers too, and what the policy says")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        options.all
          ? (await import("../commands/tool-overview.ts")).allTools(terminal, options)
          : (await import("../commands/tools.ts")).list(terminal, options),
      ),
    );
  tools
    .command("call <tool> [arguments]")
    .description("call a built-in tool under the policy; the arguments are a JSON object")
    .option("--timeout <seconds>", "how long to wait", seconds)
    .option("--call-id <id>", "make the call once, whatever is repeated; tools cancel takes the id")
    .option("--approval <id>", "the approval that an earlier attempt asked for")
    .option("--json", JSON_TEXT)
    .action((tool, args, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/tools.ts")).call(terminal, tool, {
          ...options,
          args: args ?? "{}",
        }),
      ),
    );
  tools
    .command("cancel <callId>")
    .description("end a call of yours that was made with --call-id")
    .option("--json", JSON_TEXT)
    .action((callId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/tools.ts")).cancel(terminal, callId, options),
      ),
    );
}
