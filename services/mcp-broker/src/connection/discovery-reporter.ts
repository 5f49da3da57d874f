import type { Bus } from "@switchyard/bus/connect";
import { publishEvent } from "@switchyard/bus/publish";
import { toolsDiscovered } from "@switchyard/contracts/mcp-pins";
import type { Log } from "@switchyard/service/log";
import type { ConnectionChange } from "./server-connection.ts";
import { discoveredTools, type ToolDigests } from "../catalogue/discovered-tools.ts";
import type { ToolCatalogue } from "../catalogue/tool-catalogue.ts";

interface Connected {
  readonly entry: { readonly id: string };
  readonly catalogue: ToolCatalogue;
}

/**
 * Tells the outside what came into a server's catalogue and what left it. A connection that ends
 * takes all its tools with it, which its own event says, so the next one begins with nothing.
 */
export function createDiscoveryReporter(options: {
  bus: Bus;
  log: Log;
  now: () => number;
}): (change: ConnectionChange, connection: Connected) => void {
  const { bus, log, now } = options;
  const reported = new Map<string, ToolDigests>();
  return ({ kind }, { entry: { id: server }, catalogue }) => {
    if (kind === "lost" || kind === "closed") reported.delete(server);
    if (kind !== "connected" && kind !== "tools_changed") return;
    const tools: ToolDigests = new Map(
      catalogue.tools.map(({ ref, inspected }) => [ref.name, inspected.pin]),
    );
    const news = discoveredTools(reported.get(server) ?? new Map(), tools);
    reported.set(server, tools);
    if (news === null) return;
    const payload = { server, toolCount: tools.size, ...news, at: new Date(now()).toISOString() };
    publishEvent(bus, toolsDiscovered, { server }, payload).catch((err: unknown) =>
      log.warn({ err }, "mcp event not published"),
    );
  };
}
