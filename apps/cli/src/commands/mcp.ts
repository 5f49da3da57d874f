import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { isError } from "@switchyard/contracts/errors";
import { canonicalToolName } from "@switchyard/contracts/tool-names";
import { ServerId } from "@switchyard/contracts/ids";
import { listTools } from "@switchyard/contracts/mcp";
import { listServers } from "@switchyard/contracts/mcp-servers";
import type { ToolFinding } from "@switchyard/contracts/mcp-pins";
import { ensureServer } from "@switchyard/contracts/mcp-ownership";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import { findBus, withBus } from "../bus-session.ts";
import { wholeApproval } from "../named-approval.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { followProgress } from "./call-progress.ts";
import { ruleFor } from "./reach-of-server.ts";
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
  const { reply, user } = await withBus(await findBus(process.env), async (bus) => ({
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

interface CallOptions {
  readonly json?: true;
  readonly timeout?: number;
  /** Makes the call effectively-once, and one that `yard mcp cancel` can name. */
  readonly callId?: string;
  readonly approval?: string;
  readonly progress?: true;
}

/** Calls one tool under the policy. Exit 1 when the tool itself says that it failed. */
export async function call(
  terminal: Terminal,
  server: string,
  { tool, args, ...options }: { tool: string; args: string } & CallOptions,
): Promise<ExitCode> {
  if (!ServerId.safeParse(server).success) {
    throw new CliError("unknown_server", `${JSON.stringify(server)} is not a valid server id`, {
      hint: "see the servers with: ./yard mcp list",
    });
  }
  const { callId, approval } = options;
  const request = {
    tool,
    args: parseArguments(args, canonicalToolName(server, tool)),
    ...(callId === undefined ? {} : { callId }),
    ...(approval === undefined ? {} : { approvalId: wholeApproval(approval) }),
  };
  const limits = options.timeout === undefined ? {} : { timeoutMs: options.timeout * 1_000 };
  const target = await findBus(process.env);
  const reply = await withBus(target, async (bus) => {
    const progress = options.progress
      ? await followProgress(bus, { terminal, caller: bus.user })
      : null;
    const asked = progress === null ? request : { ...request, progress: progress.progressId };
    return callMcpTool(bus, asked, { tokens: { server }, ...limits })
      .catch((error: unknown) => explainMissingServer(bus, server, error))
      .finally(() => progress?.stop());
  });
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

/** No such server is configured: which ones are helps to correct the name. */
async function explainMissingServer(bus: Bus, server: string, error: unknown): Promise<never> {
  if (!isError(error, ensureServer, "unknown_server")) throw error;
  const { servers: known } = await client(bus, { listServers })
    .listServers({})
    .catch(() => ({ servers: [] })); // a team may not know which there are
  if (known.length === 0 || known.some(({ id }) => id === server)) throw error;
  throw new CliError("unknown_server", `no MCP server ${server} is configured`, {
    hint: `known: ${known.map(({ id }) => id).join(", ")}`,
    cause: error,
  });
}

/** Reads what a person wrote as the arguments of a tool. */
export function parseArguments(text: string, tool: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError("usage", `the arguments of ${tool} are not valid JSON: ${String(error)}`, {
      hint: `quote them for the shell, such as '{"path":"README.md"}'`,
      cause: error,
    });
  }
  if (!isWritable(value))
    throw new CliError("usage", `the arguments of ${tool} are nested too deeply to be sent`);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new CliError("usage", `the arguments of ${tool} must be a JSON object`, {
    hint: `such as '{"path":"README.md"}'`,
  });
}

/** What was read may be nested deeper than it can be written. */
function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
