import type { Command } from "commander";
import type { Perform } from "./command-options.ts";

const load = () => import("../commands/mcp-secrets.ts");

/** Declares `yard mcp secret`. A value is read from standard input or a prompt: an argument would be in the list of processes. */
export function addMcpSecretCommands(
  mcp: Command,
  { perform, jsonText }: { readonly perform: Perform; readonly jsonText: string },
): void {
  const secret = mcp
    .command("secret")
    .description("secrets of servers, which the broker stores encrypted and never shows");
  secret
    .command("set <name>")
    .description("store or replace a secret, from standard input or a prompt")
    .option("--server <server...>", "the only servers that may use it")
    .option("--json", jsonText)
    .action((name, options) =>
      perform(options, async (terminal) => (await load()).set(terminal, name, options)),
    );
  secret
    .command("list")
    .description("the stored secrets by name, and the servers that use them")
    .option("--json", jsonText)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  secret
    .command("delete <name>")
    .description("delete a secret that no server uses")
    .option("--json", jsonText)
    .action((name, options) =>
      perform(options, async (terminal) => (await load()).remove(terminal, name, options)),
    );
}
