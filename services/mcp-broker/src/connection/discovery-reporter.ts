import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { toolsDiscovered } from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { Log } from "@switchyard/service/log";
import type { ConnectionChange } from "./server-connection.ts";
import type { ToolCatalogue } from "../catalogue/tool-catalogue.ts";

/** The digests of a server's tools by canonical name. */
type ToolDigests = ReadonlyMap<string, string>;

interface Connected {
  readonly entry: { readonly id: string };
  readonly catalogue: ToolCatalogue;
}

/**
 * Publishes which tools entered a server's catalogue and which left it. A connection that ends takes all its tools with it, which
 * its own event reports, so the next one begins with an empty list.
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

/** The difference between two lists, in the order of the names; null when there is none. */
function discoveredTools(before: ToolDigests, now: ToolDigests) {
  const names = [...now.keys()].toSorted();
  const added = names.filter((name) => !before.has(name));
  const changed = names.filter((name) => before.has(name) && before.get(name) !== now.get(name));
  const removed = [...before.keys()].filter((name) => !now.has(name)).toSorted();
  const isSame = added.length + changed.length + removed.length === 0;
  return isSame ? null : { added, removed, changed };
}
