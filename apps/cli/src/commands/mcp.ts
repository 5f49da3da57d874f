import { client } from "@switchyard/bus/call";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { findBus, withBus } from "../bus-session.ts";
import { printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const DESCRIPTION_WIDTH = 70;

export async function servers(terminal: Terminal, options: { json?: true }): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listServers }).listServers({}),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.servers.length === 0) return terminal.note("no MCP server is configured");
  const lines = tableLines(
    [
      { title: "SERVER", value: (server) => server.id },
      { title: "STATUS", value: (server) => server.status },
      { title: "TOOLS", value: (server) => String(server.toolCount), align: "right" },
      {
        title: "ORIGIN",
        value: ({ origin, overridesFile }) =>
          overridesFile === true ? `${origin} (file ignored)` : origin,
      },
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
  options: { json?: true; findings?: true },
): Promise<void> {
  const request = {
    ...(server === undefined ? {} : { server }),
    ...(options.findings === true ? { findings: true } : {}),
  };
  const { reply, user } = await withBus(await findBus(terminal.env), async (bus) => ({
    reply: await client(bus, { listTools }).listTools(request),
    user: bus.user,
  }));
  for (const failure of reply.failures) {
    terminal.note(
      `${terminal.paintNote("yellow", "warning:")} tools of ${failure.server} are missing (${failure.status}): ${printableLine(failure.error)}`,
    );
  }
  if (options.json) return writeJson(terminal, reply);
  if (reply.tools.length === 0) {
    terminal.note("the policy lets you call no tool of a connected server");
    if (server === undefined || reply.failures.length > 0) return;
    terminal.note(`a rule for the tools of ${server}:`);
    const { ruleFor } = await import("./reach-of-server.ts");
    for (const line of ruleFor(server, user)) terminal.note(line);
    return;
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
  if (options.findings) for (const line of findingLines(reply.tools)) terminal.out(line);
}

function findingLines(
  listed: readonly { name: string; findings?: readonly ToolFinding[] | undefined }[],
): string[] {
  const rows = listed.flatMap(({ name, findings = [] }) =>
    findings.map((finding) => ({ name, ...finding })),
  );
  if (rows.length === 0) return ["", "nothing remarkable was found"];
  return [
    "",
    ...tableLines(
      [
        { title: "TOOL", value: (row) => row.name },
        { title: "SEVERITY", value: (row) => row.severity },
        { title: "FINDING", value: (row) => row.code },
        { title: "WHERE", value: (row) => printableLine(row.where), maxWidth: 50 },
        { title: "EVIDENCE", value: (row) => printableLine(row.evidence), maxWidth: 100 },
      ],
      rows,
    ),
  ];
}
