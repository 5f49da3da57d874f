import { randomUUID } from "node:crypto";
import { serve } from "@switchyard/bus/serve";
import { runService } from "@switchyard/service/run-service";
import { serveAgentStore } from "./agent-store-handlers.ts";
import { openRoots } from "./source/allowed-roots.ts";
import { AgentVersionStore } from "./store/agent-version-store.ts";
import { CatalogueStore } from "./store/catalogue-store.ts";
import { serveCatalogueViews } from "./catalogue-handlers.ts";
import { ImporterEnv } from "./config.ts";
import { createEventOutbox } from "./store/event-outbox.ts";
import { serveCatalogue } from "./handlers.ts";
import { Importer } from "./importer.ts";
import { JudgePool } from "./judge/judge-pool.ts";
import { judgesWith, scannerOf } from "./judge/suppressing-judges.ts";
import { readIndicators } from "./scan/indicators.ts";
import { readSuppressions } from "./scan/read-suppressions.ts";
import { importLog } from "./import-log.ts";
import { serveSkillStore } from "./store-handlers.ts";
import { retireVersion } from "./store/retire-version.ts";
import { tellingStoreOutages } from "./store/store-outage.ts";
import { VersionStore } from "./store/version-store.ts";
import { watchImports } from "./watch-imports.ts";

const VERSION = "0.1.0";
const now = () => new Date();

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
    const versions = new VersionStore(redis, now);
    const agentVersions = new AgentVersionStore(redis, now);
    const outbox = createEventOutbox({
      bus,
      store,
      retire: (item) => retireVersion({ store, versions, agentVersions }, item),
      retryMs: 5_000,
      onFailure: (err) => log.warn({ err }, "events not published yet"),
    });
    kit.onStop("event outbox", () => outbox.stop());
    const settings = {
      suppressions: await readSuppressions(config.YARD_SCAN_SUPPRESSIONS),
      indicators: await readIndicators(config.YARD_SCAN_INDICATORS),
    };
    const pool = new JudgePool({ size: 1, deadlineMs: 1_000 });
    pool.warm();
    kit.onStop("judges", () => pool.close());
    const judges = judgesWith(pool, settings);
    const announce = () => outbox.flush();
    const importer = new Importer({
      store,
      versions,
      agentVersions,
      judges,
      scanner: scannerOf(settings),
      roots,
      now,
      newId: randomUUID,
      announce,
    });

    const tell = importLog(log);
    const watch = config.YARD_IMPORT_WATCH ? watchImports({ importer, log, tell }) : null;
    if (watch !== null) kit.onStop("file watch", () => watch.close());
    // Watched before they are read, so that no change falls between the two.
    watch?.begin(await importer.places());
    const first = await importer.importAll();
    tell(first);
    watch?.update(first);

    const service = serve(bus, {
      name: "importer",
      version: VERSION,
      description: "Imports and serves skills and agent definitions",
      onFault: ({ error, ...facts }) => log.error({ err: error, ...facts }, "handler fault"),
    });
    const maxPromptBytes = config.YARD_SKILL_PROMPT_BYTES;
    const reading = { store, versions, agentVersions, judges };
    const guarded = tellingStoreOutages(service);
    const grantedRoles = config.YARD_IMPORTED_AGENT_ROLES;
    const admins = config.YARD_IMPORT_ADMINS;
    serveCatalogue(guarded, { ...reading, importer, roots, admins, maxPromptBytes, grantedRoles });
    serveCatalogueViews(guarded, { store, judges });
    const paths = roots.map(({ path }) => path);
    const parts = { store, versions, now, newId: randomUUID, announce };
    serveSkillStore(guarded, {
      change: { ...parts, roots: paths },
      upload: {
        ...parts,
        judges,
        limits: { roots: paths, maxSkills: config.YARD_IMPORT_MAX_SKILLS },
      },
      admins,
    });
    serveAgentStore(guarded, {
      agents: { ...parts, versions: agentVersions, judges, roots: paths },
      admins,
    });
  },
});
