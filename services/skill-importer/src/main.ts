import { randomUUID } from "node:crypto";
import { serve } from "@switchyard/bus/serve";
import { runService } from "@switchyard/service/run-service";
import { openRoots } from "./source/allowed-roots.ts";
import { CatalogueStore } from "./store/catalogue-store.ts";
import { ImporterEnv } from "./config.ts";
import { createEventOutbox } from "./store/event-outbox.ts";
import { serveCatalogue } from "./handlers.ts";
import { Importer } from "./importer.ts";
import { logImport } from "./log-import.ts";
import { watchDirectories } from "./source/watch-directories.ts";

const VERSION = "0.1.0";

await runService({
  name: "skill-importer",
  user: "importer",
  version: VERSION,
  env: ImporterEnv,
  async start(kit) {
    const { config, log, bus, redis } = kit;
    const roots = await openRoots(config.YARD_SKILL_ROOTS);
    const store = new CatalogueStore(redis, (key) =>
      log.warn({ key }, "stored value cannot be read"),
    );
    const outbox = createEventOutbox({
      bus,
      store,
      retryMs: 5_000,
      onFailure: (err) => log.warn({ err }, "events not published yet"),
    });
    kit.onStop("event outbox", () => outbox.stop());
    const importer = new Importer({
      store,
      roots,
      now: () => new Date(),
      newId: randomUUID,
      announce: () => outbox.flush(),
    });
    const first = await importer.importAll();
    logImport(log, first);

    if (config.YARD_IMPORT_WATCH) {
      const watch = watchDirectories({
        debounceMs: 200,
        retryMs: 2_000,
        onError: (err) => log.warn({ err }, "changed files not imported yet"),
        async onChange() {
          const report = await importer.importAll();
          logImport(log, report);
          watch.update(report.directories);
        },
      });
      kit.onStop("file watch", () => watch.close());
      watch.update(first.directories);
    }

    const service = serve(bus, {
      name: "importer",
      version: VERSION,
      description: "Imports and serves skills and agent definitions",
      onFault: ({ error, ...facts }) => log.error({ err: error, ...facts }, "handler fault"),
    });
    serveCatalogue(service, { store, importer, roots });
  },
});
