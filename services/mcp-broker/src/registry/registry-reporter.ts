import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import {
  serverAdded,
  serverFileRefused,
  serverRemoved,
  serverUpdated,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Log } from "@switchyard/service/log";
import type { RegistryChange } from "./server-registry.ts";

export type RegistryReporter = ReturnType<typeof createRegistryReporter>;

/** Reports what happened to the registry: a log line and an event. */
export function createRegistryReporter(options: { bus: Bus; log: Log; now: () => number }) {
  const { bus, log, now } = options;
  const publish = (publishing: Promise<unknown>): void =>
    void publishing.catch((err: unknown) => log.warn({ err }, "mcp event not published"));
  const at = (): string => new Date(now()).toISOString();

  return {
    changed(change: RegistryChange): void {
      const { by } = change;
      if (change.kind === "removed") {
        const { serverId } = change;
        log.info({ server: serverId, by }, "mcp server removed");
        publish(publishEvent(bus, serverRemoved, { server: serverId }, { serverId, by, at: at() }));
        return;
      }
      const { kind, server } = change;
      const contract = kind === "added" ? serverAdded : serverUpdated;
      log.info({ server: server.id, by }, `mcp server ${kind}`);
      publish(publishEvent(bus, contract, { server: server.id }, { server, by, at: at() }));
    },
    /** The file's entry of a server was edited, but a change over the bus takes precedence. */
    ignored(server: string): void {
      const wayBack = "yard mcp reset follows the file again";
      log.warn({ server, wayBack }, "edit of the server file ignored, changed over the bus");
    },
    /** An edit of the server file cannot be used. */
    refused(problem: string): void {
      log.warn({ problem }, "edited server file refused; the last good one stays");
      publish(publishEvent(bus, serverFileRefused, {}, { problem, at: at() }));
    },
  };
}
