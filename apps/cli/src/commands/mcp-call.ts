import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { isError } from "@switchyard/contracts/errors";
import { canonicalToolName } from "@switchyard/contracts/tool-names";
import { ServerId } from "@switchyard/contracts/ids";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import { findBus, withBus } from "../bus-session.ts";
import { wholeApproval } from "../named-approval.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { followProgress } from "./call-progress.ts";
import { printable } from "../printable.ts";
import { formatDuration } from "../quantities.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface CallOptions {
  readonly json?: true;
  readonly timeout?: number;
  /** Makes the call effectively-once, and one that `yard mcp cancel` can name. */
  readonly callId?: string;
  readonly approval?: string;
  readonly progress?: true;
}

/** Calls one tool under the policy. Exit 1 when the tool itself reports a failure. */
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
  const target = await findBus(terminal.env);
  const reply = await withBus(target, async (bus) => {
    const progress = options.progress
      ? await followProgress(bus, { terminal, caller: bus.user })
      : null;
    const sent = progress === null ? request : { ...request, progress: progress.progressId };
    return callMcpTool(bus, sent, { tokens: { server }, ...limits })
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

/** Parsed JSON may be nested too deeply for JSON.stringify. */
function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
