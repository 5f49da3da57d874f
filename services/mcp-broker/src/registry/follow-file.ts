import { basename } from "node:path";
import type { Log } from "@switchyard/service/log";
import type { RegistryReporter } from "./registry-reporter.ts";
import type { ServerEntry } from "@switchyard/project/mcp-servers/server-config";
import { parseServerFile, ServerFileError } from "@switchyard/project/mcp-servers/server-file";
import type { ServerRegistry } from "./server-registry.ts";
import { logServerFile } from "./log-server-file.ts";
import { watchFile, type FileWatch } from "@switchyard/service/watch-file";

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
