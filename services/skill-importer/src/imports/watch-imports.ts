import { constant } from "@switchyard/service/constant";
import type { Log } from "@switchyard/service/log";
import type { Importer } from "./importer.ts";
import type { ImportReport } from "./import-report.ts";
import { watchDirectories, type DirectoryWatch } from "@switchyard/skills/source/watch-directories";

/** Imports every root again when something in one of the watched directories changes. */
export function watchImports({
  importer,
  log,
  logImport,
}: {
  importer: Importer;
  log: Log;
  logImport: (report: ImportReport) => void;
}): DirectoryWatch {
  const watch = watchDirectories({
    debounceMs: constant("importDebounceMs", 200),
    retryMs: 2_000,
    onError: (err) => log.warn({ err }, "changed files not imported yet"),
    async onChange() {
      const report = await importer.importAll();
      logImport(report);
      watch.update(report);
    },
  });
  return watch;
}
