import { call, type CallOptions } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import { ensureServer } from "@switchyard/contracts/mcp-ownership";
import type { z } from "zod";

/** The server is part of the subject. */
export type McpToolCallOptions = CallOptions<typeof callTool> & {
  readonly tokens: { readonly server: string };
};

/**
 * Calls an MCP tool. When no broker owns the server, or the one that did has just lost it, the
 * call was not sent: then the brokers are asked to make sure of an owner, and it is sent once more,
 * within the same time. Rejects with the errors of `mcp.call` and, of `mcp.ensure`,
 * `unknown_server`, `server_disabled`, `owned_elsewhere`, `no_capacity` and `lease_unavailable`.
 */
export async function callMcpTool(
  bus: Bus,
  request: z.input<typeof callTool.request>,
  options: McpToolCallOptions,
): Promise<z.output<typeof callTool.reply>> {
  const { timeoutMs = callTool.timeoutMs, ...rest } = options;
  const deadline = Math.min(options.deadline ?? Infinity, Date.now() + timeoutMs);
  const limits = { ...rest, deadline };
  try {
    return await call(bus, callTool, request, limits);
  } catch (error) {
    if (!isWithoutOwner(error)) throw error;
    await ensureOwner(bus, error, limits);
  }
  return call(bus, callTool, request, limits);
}

function isWithoutOwner(error: unknown): boolean {
  if (isError(error, callTool, "not_owner")) return true;
  return error instanceof ServiceError && error.code === "no_responders";
}

async function ensureOwner(
  bus: Bus,
  reason: unknown,
  { tokens: { server }, ...limits }: McpToolCallOptions,
): Promise<void> {
  try {
    const { timeoutMs } = ensureServer;
    await call(bus, ensureServer, { server }, { ...limits, timeoutMs });
  } catch (error) {
    // No broker at all: what the call itself met says so best.
    if (error instanceof ServiceError && error.code === "no_responders") throw reason;
    throw error;
  }
}
