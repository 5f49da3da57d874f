import { client } from "@switchyard/bus/call";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { serveAcp } from "../acp/serve-acp.ts";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { agentToTry } from "../dev/ready-block.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { setting } from "../settings.ts";
import type { Terminal } from "../terminal.ts";

/** `yard acp`: standard input and output belong to the protocol; problems are logged on standard error. */
export async function acp(
  terminal: Terminal,
  options: { readonly agent?: string; readonly model?: string },
): Promise<ExitCode> {
  return withBus(await findBus(terminal.env), async (bus) => {
    const { agents } = await client(bus, { listAgents }).listAgents({});
    const agent = options.agent ?? setting("agent", terminal.env).value ?? agentToTry(agents);
    if (agent === null || !agents.some(({ name }) => name === agent))
      throw new CliError(
        agent === null ? "usage" : "unknown_agent",
        agent === null
          ? "no agent is named, and the project has none"
          : `Agent '${agent}' not found.`,
        { hint: "see the agents with: ./yard agents list; name one with --agent" },
      );
    const model = options.model ?? setting("model", terminal.env).value;
    const { stdin: input, stdout: output } = process;
    const connection = serveAcp({
      bus,
      agent,
      model,
      input,
      output,
      onFault: (error) => terminal.error(String(error)),
    });
    const stop = (): void => connection.close();
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, stop);
    await connection.closed;
    return EXIT.ok;
  });
}
