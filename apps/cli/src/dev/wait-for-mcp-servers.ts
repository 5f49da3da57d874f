import { setTimeout as delay } from "node:timers/promises";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listServers, type ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";

const POLL_MS = 50;

/** Waits until every MCP server is connected, waits for its first call or has reported an error, and returns their state. */
export async function waitForMcpServers(
  bus: Bus,
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<ServerInfo[]> {
  const giveUpAt = performance.now() + options.timeoutMs;
  for (;;) {
    const { servers } = await client(bus, { listServers }).listServers({});
    const settled = servers.every(isSettled);
    if (settled || performance.now() >= giveUpAt || options.signal.aborted) return servers;
    await delay(POLL_MS);
  }
}

/** A server that only its first call connects. */
export function waitsForItsFirstCall({ status, lastError, autoConnect }: ServerInfo): boolean {
  return autoConnect === false && status === "disconnected" && lastError === null;
}

/** Connected, waiting for its first call, or failed with a known error. */
export function isSettled(server: ServerInfo): boolean {
  if (waitsForItsFirstCall(server)) return true;
  const { status, lastError } = server;
  return status !== "connecting" && (status !== "disconnected" || lastError !== null);
}
