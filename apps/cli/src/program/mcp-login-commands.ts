import type { Command } from "commander";
import type { Perform } from "./command-options.ts";

const load = () => import("../commands/mcp-login.ts");

/** Declares `yard mcp login` and `yard mcp logout`. */
export function addMcpLoginCommands(
  mcp: Command,
  { perform, jsonText }: { perform: Perform; jsonText: string },
): void {
  mcp
    .command("login <server>")
    .description("log in to a server that asks for it; prints the address to open")
    .option("--no-browser", "open nothing and wait for the address that the browser ended at")
    .option("--json", "print one line of JSON with the address, then one with the server")
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).login(terminal, server, options)),
    );
  mcp
    .command("logout <server>")
    .description("forget the login to a server")
    .option("--json", jsonText)
    .action((server, options) =>
      perform(options, async (terminal) => (await load()).logout(terminal, server, options)),
    );
}
