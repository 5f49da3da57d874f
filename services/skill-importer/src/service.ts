import { randomUUID } from "node:crypto";
import { serve } from "@switchyard/bus/serve";
import { answersFromStore } from "@switchyard/service/answers-from-store";
import { defineService } from "@switchyard/service/define-service";
import { createEventOutbox } from "./catalogue/event-outbox.ts";
import { ImporterEnv } from "./config.ts";
import { serveCatalogue } from "./handlers/skill-handlers.ts";
import { serveStore } from "./handlers/store-handlers.ts";
import { serveCatalogueViews } from "./handlers/view-handlers.ts";
import type { ImportReport } from "./imports/import-report.ts";
import { importLog } from "./imports/import-log.ts";
import { Importer } from "./imports/importer.ts";
import { watchImports } from "./imports/watch-imports.ts";
import { ThreadAnalyzer } from "@switchyard/skills/analysis/thread-analyzer";
import { scannerOf } from "@switchyard/skills/analysis/scan-settings";
import { readIndicators } from "@switchyard/skills/scan/indicators";
import { readSuppressions } from "@switchyard/skills/scan/read-suppressions";
import { openRoots } from "@switchyard/skills/source/allowed-roots";
import { CatalogueStore } from "./store/catalogue-store.ts";
import { VersionStore } from "./store/version-store.ts";
import { constant } from "@switchyard/service/constant";
import { MAX_PROMPT_BYTES } from "@switchyard/skills/render/render";

/** The most names of skills that clients may import in all. */
const MAX_SKILLS = 50_000;
/** The most names of agents that clients may import in all: every list of agents is one reply. */
const MAX_AGENTS = 5_000;
const VERSION = "0.1.0";
const now = () => new Date();

export const importerService = defineService({
  name: "skill-importer",
  user: "importer",
  version: VERSION,
  env: ImporterEnv,
  async start(kit) {
    const { config, log, bus, redis, storage } = kit;
    const roots = await openRoots(config.YARD_SKILL_ROOTS);
    const store = new CatalogueStore(redis, (key) =>
      log.warn({ key }, "stored value cannot be read"),
    );
    const versions = new VersionStore(redis, now, storage);
    storage.lookUpWith((owner, thing) => versions.holding(owner, thing));
    const outbox = createEventOutbox({
      bus,
      store,
      versions,
      retryMs: 5_000,
      onFailure: (err) => log.warn({ err }, "events not published yet"),
    });
    kit.onStop("event outbox", () => outbox.stop());
    const settings = {
      suppressions: await readSuppressions(config.YARD_SCAN_SUPPRESSIONS),
      indicators: await readIndicators(config.YARD_SCAN_INDICATORS),
    };
    const analyzer = new ThreadAnalyzer({ deadlineMs: 1_000, settings });
    analyzer.warm();
    kit.onStop("analysis", () => analyzer.close());
    const announce = () => outbox.flush();
    const machine = { env: kit.env, platform: process.platform };
    const parts = { store, versions, analyzer, now, newId: randomUUID, announce, machine };
    const importer = new Importer({ ...parts, scanner: scannerOf(settings), roots });

    const logged = importLog(log);
    let badFiles: readonly string[] = [];
    let unusable: ImportReport["unusableAgents"] = [];
    let hasBeenGood = !config.YARD_IMPORT_STRICT;
    const logImport = (report: ImportReport): void => {
      badFiles = report.bad;
      unusable = report.unusableAgents;
      hasBeenGood ||= badFiles.length === 0;
      logged(report);
    };
    kit.ready(
      "files",
      () =>
        hasBeenGood || `files that cannot be used: ${badFiles.join(", ")}; the log has the reasons`,
    );
    const watch = watchImports({ importer, log, logImport });
    kit.onStop("file watch", () => watch.close());
    // Files are watched before they are read, so that no change in between is missed.
    watch.begin(await importer.places());
    const first = await importer.importAll();
    logImport(first);
    watch.update(first);

    const service = serve(bus, {
      name: "importer",
      version: VERSION,
      description: "Imports and serves skills and agent definitions",
      interceptors: [answersFromStore],
      onFault: ({ error, ...facts }) => log.error({ err: error, ...facts }, "handler fault"),
    });
    const admins = config.YARD_ADMINS;
    serveCatalogue(service, {
      ...parts,
      importer,
      roots,
      admins,
      maxPromptBytes: constant("skillPromptBytes", MAX_PROMPT_BYTES),
      grantedRoles: config.YARD_IMPORTED_AGENT_ROLES,
      unusableAgents: () => unusable,
    });
    serveCatalogueViews(service, parts);
    serveStore(service, {
      ...parts,
      storage,
      roots: roots.map(({ path }) => path),
      maxNames: { skill: MAX_SKILLS, agent: MAX_AGENTS },
      admins,
    });
  },
});
