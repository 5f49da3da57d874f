import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { ServiceError } from "@switchyard/contracts/errors";
import { canonicalToolName } from "@switchyard/contracts/tool-names";
import { ServerId } from "@switchyard/contracts/ids";
import { callTool, listServers, listTools } from "@switchyard/contracts/mcp";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printable, printableLine } from "../printable.ts";
import { formatDuration } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const DESCRIPTION_WIDTH = 70;

export async function servers(terminal: Terminal, options: { json?: true }): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listServers }).listServers({}),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.servers.length === 0) return terminal.note("no MCP server is configured");
  const lines = tableLines(
    [
      { title: "SERVER", value: (server) => server.id },
      { title: "STATUS", value: (server) => server.status },
      { title: "TOOLS", value: (server) => String(server.toolCount), align: "right" },
      { title: "ORIGIN", value: (server) => server.origin },
      { title: "TRANSPORT", value: (server) => server.transport },
      {
        title: "VERSION",
        value: (server) => printableLine(server.serverVersion ?? "–"),
        maxWidth: 40,
      },
      { title: "PROTOCOL", value: (server) => printableLine(server.protocolVersion ?? "–") },
      {
        title: "LAST ERROR",
        value: (server) => printableLine(server.lastError ?? ""),
        maxWidth: 80,
      },
    ],
    reply.servers,
  );
  for (const line of lines) terminal.out(line);
}

export async function tools(
  terminal: Terminal,
  server: string | undefined,
  options: { json?: true },
): Promise<void> {
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listTools }).listTools(server === undefined ? {} : { server }),
  );
  for (const failure of reply.failures) {
    terminal.note(
      `${terminal.paintNote("yellow", "warning:")} tools of ${failure.server} are missing (${failure.status}): ${printableLine(failure.error)}`,
    );
  }
  if (options.json) return writeJson(terminal, reply);
  if (reply.tools.length === 0) {
    return terminal.note("the policy lets you call no tool of a connected server");
  }
  const lines = tableLines(
    [
      { title: "TOOL", value: (tool) => tool.name },
      {
        title: "DESCRIPTION",
        value: (tool) => printableLine(tool.description),
        maxWidth: DESCRIPTION_WIDTH,
      },
    ],
    reply.tools,
  );
  for (const line of lines) terminal.out(line);
}

/** Calls one tool under the policy. Exit 1 when the tool itself says that it failed. */
export async function call(
  terminal: Terminal,
  server: string,
  { tool, args, ...options }: { tool: string; args: string; json?: true; timeout?: number },
): Promise<ExitCode> {
  if (!ServerId.safeParse(server).success) {
    throw new CliError("unknown_server", `${JSON.stringify(server)} is no server id`, {
      hint: "see the servers with: ./yard mcp list",
    });
  }
  const request = { tool, args: parseArguments(args, canonicalToolName(server, tool)) };
  const limits = options.timeout === undefined ? {} : { timeoutMs: options.timeout * 1_000 };
  const reply = await withBus(await findBus(process.env), (bus) =>
    client(bus, { callTool })
      .callTool(request, { tokens: { server }, ...limits })
      .catch((error: unknown) => explainMissingServer(bus, server, error)),
  );
  if (options.json) writeJson(terminal, reply);
  else terminal.out(printable(reply.text));
  terminal.note(
    terminal.paintNote(
      "dim",
      `${reply.isError ? "the tool reports an error" : "ok"}, ${formatDuration(reply.durationMs)}, ${reply.decision.reason}`,
    ),
  );
  return reply.isError ? EXIT.failed : EXIT.ok;
}

/** Nobody owns the subject of this server: either no such server is configured, or the broker is down. */
async function explainMissingServer(bus: Bus, server: string, error: unknown): Promise<never> {
  if (!(error instanceof ServiceError) || error.code !== "no_responders") throw error;
  const { servers: known } = await client(bus, { listServers }).listServers({});
  if (known.some(({ id }) => id === server)) throw error;
  throw new CliError("unknown_server", `no MCP server ${server} is configured`, {
    hint: `known: ${known.map(({ id }) => id).join(", ")}`,
    cause: error,
  });
}

function parseArguments(text: string, tool: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError("usage", `the arguments of ${tool} are no JSON: ${String(error)}`, {
      hint: `quote them for the shell, such as '{"path":"README.md"}'`,
      cause: error,
    });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new CliError("usage", `the arguments of ${tool} must be a JSON object`, {
    hint: `such as '{"path":"README.md"}'`,
  });
}
