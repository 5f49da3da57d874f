import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import {
  serverConnected,
  serverDisconnected,
  serverFailed,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Log } from "@switchyard/service/log";
import { toolsDiscovered } from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { ServerConnectionOptions, ConnectionChange } from "./server-connection.ts";
import type { ToolCatalogue } from "../catalogue/tool-catalogue.ts";

/**
 * Reports what happened to a connection: a log line, an event, a count. Reasons come redacted from the session. An event that
 * cannot be published is lost: `mcp.servers` returns the status, which is always true.
 */
export function createConnectionReporter(options: {
  bus: Bus;
  log: Log;
  /** Called for each attempt to connect a server again. */
  onRestart: (server: string) => void;
  now: () => number;
}): ServerConnectionOptions["onChange"] {
  const { bus, log, onRestart, now } = options;
  const logFailure = (publishing: Promise<unknown>): void =>
    void publishing.catch((err: unknown) => log.warn({ err }, "mcp event not published"));
  return (change, { info, catalogue }) => {
    const server = info.id;
    const event = { server: info, at: new Date(now()).toISOString() };
    const logProblems = (): void => {
      for (const problem of catalogue.problems)
        log.warn({ server, problem }, "mcp tool list has a problem");
    };
    switch (change.kind) {
      case "connecting":
        if (change.isRetry) onRestart(server);
        return log.debug({ server }, "connecting mcp server");
      case "connected": {
        const { toolCount: tools, serverVersion } = info;
        log.info({ server, tools, serverVersion }, "mcp server connected");
        logProblems();
        return logFailure(publishEvent(bus, serverConnected, { server }, event));
      }
      case "tools_changed":
        log.info({ server, tools: info.toolCount }, "mcp tools changed");
        return logProblems();
      case "lost":
      case "closed": {
        const { kind, reason } = change;
        if (kind === "lost") log.warn({ server, reason }, "mcp server disconnected");
        else log.info({ server, reason }, "mcp server closed");
        return logFailure(publishEvent(bus, serverDisconnected, { server }, { ...event, reason }));
      }
      case "failed": {
        const { reason: error, isNew } = change;
        if (!isNew) return log.debug({ server, reason: error }, "mcp server still not reachable");
        log.error({ server, reason: error }, "mcp server failed, probing slowly from now on");
        return logFailure(publishEvent(bus, serverFailed, { server }, { ...event, error }));
      }
      case "trouble":
        return log.warn({ server, reason: change.reason }, "mcp server trouble");
      default:
        return change satisfies never;
    }
  };
}

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
