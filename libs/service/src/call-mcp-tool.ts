import { client } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import type { Bus } from "@switchyard/bus/bus";
import { around, type ClientCall, type Send } from "@switchyard/bus/interceptor";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import type { z } from "zod";

/** The server is part of the subject. */
export type McpToolCallOptions = CallOptions<typeof callTool> & {
  readonly tokens: { readonly server: string };
};

/**
 * Finds an owner for the server of a tool call. When no broker owns the server, or the one that did has just lost it, the
 * call was not sent: then the brokers are called to make sure of an owner, and the call is sent once more,
 * within the same time. Rejects with the errors of `mcp.call` and, of `mcp.ensure`,
 * `unknown_server`, `server_disabled`, `owned_elsewhere`, `no_capacity` and `lease_unavailable`.
 */
export const ensuringOwner = around(callTool, async (toolCall, next) => {
  const { timeoutMs = callTool.timeoutMs, ...rest } = toolCall.options;
  const deadline = Math.min(rest.deadline ?? Infinity, Date.now() + timeoutMs);
  const limited = { ...toolCall, options: { ...rest, deadline } };
  try {
    return await next(limited);
  } catch (error) {
    if (!isWithoutOwner(error)) throw error;
    await ensureOwner(next, limited, error);
  }
  return next(limited);
});

/** Calls an MCP tool, with {@link ensuringOwner}. */
export function callMcpTool(
  bus: Bus,
  request: z.input<typeof callTool.request>,
  options: McpToolCallOptions,
): Promise<z.output<typeof callTool.reply>> {
  return client(bus, { callTool }, [ensuringOwner]).callTool(request, options);
}

function isWithoutOwner(error: unknown): boolean {
  if (isError(error, callTool, "not_owner")) return true;
  return error instanceof ServiceError && error.code === "no_responders";
}

async function ensureOwner(
  next: Send,
  { options: { tokens, ...limits } }: ClientCall<typeof callTool>,
  reason: unknown,
): Promise<void> {
  if (tokens === undefined) throw new TypeError("a tool call needs its server");
  try {
    const { timeoutMs } = ensureServer;
    const { server } = tokens;
    await next({ contract: ensureServer, request: { server }, options: { ...limits, timeoutMs } });
  } catch (error) {
    // Without any broker, the error of the call itself is the better one.
    if (error instanceof ServiceError && error.code === "no_responders") throw reason;
    throw error;
  }
}
