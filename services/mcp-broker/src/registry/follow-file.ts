import { basename } from "node:path";
import type { Log } from "@switchyard/service/log";
import type { ServerEntry } from "@switchyard/project/mcp-servers/server-config";
import {
  parseServerFile,
  ServerFileError,
  type ServerFile,
} from "@switchyard/project/mcp-servers/server-file";
import { watchFile, type FileWatch } from "@switchyard/service/watch-file";
import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import {
  serverAdded,
  serverFileRefused,
  serverRemoved,
  serverUpdated,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { ServerRegistry, RegistryChange } from "./server-registry.ts";

/** Lets the registry follow the edits of the server file. A bad edit changes nothing and is reported. */
export function followFile(options: {
  path: string;
  /** The text that the registry was made from. */
  known: string;
  registry: ServerRegistry;
  reporter: RegistryReporter;
  log: Log;
}): FileWatch {
  const { path, known, registry, reporter, log } = options;
  const fileName = basename(path);
  return watchFile({
    path,
    known,
    onText(text) {
      const entries = read(text);
      if (entries === null) return;
      registry
        .reload(entries)
        .catch((err: unknown) => log.error({ err }, "server file not followed"));
    },
    onTrouble: (err) =>
      log.warn({ err }, "server file is not watched; edits count at the next start"),
  });

  function read(text: string | null): readonly ServerEntry[] | null {
    try {
      if (text === null) throw new ServerFileError(`${fileName}: cannot be read`);
      const file = parseServerFile(text, fileName);
      logServerFile(file, log);
      return file.entries;
    } catch (error) {
      if (!(error instanceof ServerFileError)) throw error;
      reporter.refused(error.message);
      return null;
    }
  }
}

/** Logs what of the server file cannot be used, and what counts for nothing. */
export function logServerFile({ entries, warnings }: ServerFile, log: Log): void {
  for (const { id, problem, warnings: ofServer } of entries) {
    if (problem !== null) log.error({ server: id, problem }, "mcp server skipped");
    for (const warning of ofServer) log.warn({ server: id, warning }, "mcp server file");
  }
  for (const warning of warnings) log.warn({ warning }, "mcp server file");
}

type RegistryReporter = ReturnType<typeof createRegistryReporter>;

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
