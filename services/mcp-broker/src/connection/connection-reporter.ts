import type { Bus } from "@switchyard/bus/connect";
import { publishEvent } from "@switchyard/bus/publish";
import {
  serverConnected,
  serverDisconnected,
  serverFailed,
  type ServerInfo,
} from "@switchyard/contracts/mcp-servers";
import type { Log } from "@switchyard/service/log";
import type { ConnectionChange, ServerConnectionOptions } from "./server-connection.ts";

/**
 * Tells the outside what happened to a connection: a log line, an event, a count. Reasons come
 * redacted from the session. An event that cannot be published is lost: status is asked with
 * `mcp.servers`, which is always true.
 */
export function createConnectionReporter(options: {
  bus: Bus;
  log: Log;
  /** Hears of each attempt to connect a server again. */
  onRestart: (server: string) => void;
  now: () => number;
}): ServerConnectionOptions["onChange"] {
  const { bus, log, onRestart, now } = options;
  const lost = (err: unknown): void => log.warn({ err }, "mcp event not published");

  const publish = (change: ConnectionChange, server: ServerInfo): Promise<unknown> | null => {
    const at = new Date(now()).toISOString();
    const tokens = { server: server.id };
    if (change.kind === "connected")
      return publishEvent(bus, serverConnected, tokens, { server, at });
    if (change.kind === "lost" || change.kind === "closed") {
      return publishEvent(bus, serverDisconnected, tokens, { server, reason: change.reason, at });
    }
    if (change.kind === "failed" && change.isNew) {
      return publishEvent(bus, serverFailed, tokens, { server, error: change.reason, at });
    }
    return null;
  };

  return (change, connection) => {
    const { info } = connection;
    if (change.kind === "connecting" && change.isRetry) onRestart(info.id);
    logChange(log, change, info);
    for (const error of change.kind === "connected" || change.kind === "tools_changed"
      ? connection.catalogue.problems
      : []) {
      log.warn({ server: info.id, problem: error }, "mcp tool refused");
    }
    publish(change, info)?.catch(lost);
  };
}

function logChange(log: Log, change: ConnectionChange, info: ServerInfo): void {
  const server = info.id;
  switch (change.kind) {
    case "connecting":
      return log.debug({ server }, "connecting mcp server");
    case "connected":
      return log.info(
        { server, tools: info.toolCount, serverVersion: info.serverVersion },
        "mcp server connected",
      );
    case "tools_changed":
      return log.info({ server, tools: info.toolCount }, "mcp tools changed");
    case "lost":
      return log.warn({ server, reason: change.reason }, "mcp server disconnected");
    case "closed":
      return log.info({ server, reason: change.reason }, "mcp server closed");
    case "failed":
      return change.isNew
        ? log.error(
            { server, reason: change.reason },
            "mcp server failed, probing slowly from now on",
          )
        : log.debug({ server, reason: change.reason }, "mcp server still not reachable");
    case "trouble":
      return log.warn({ server, reason: change.reason }, "mcp server trouble");
    default:
      return change satisfies never;
  }
}
