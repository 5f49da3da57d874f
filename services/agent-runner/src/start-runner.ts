import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Bus } from "@switchyard/bus/bus";
import { consume } from "@switchyard/bus/consume";
import { EventRelay } from "@switchyard/bus/event-relay";
import { FairTurns } from "@switchyard/bus/fair-turns";
import { retryOverloaded } from "@switchyard/bus/retry-overloaded";
import { serve } from "@switchyard/bus/serve";
import { FILES_LEDGER } from "@switchyard/contracts/owner-storage";
import { restartRunner } from "@switchyard/contracts/restarts";
import { runCommands } from "@switchyard/topology/streams";
import type { Log } from "@switchyard/service/log";
import { createExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { startAudit, type Audit } from "@switchyard/audit/start-audit";
import type { ServiceKit } from "@switchyard/service/define-service";
import { createOwnerStorage, type OwnerStorage } from "@switchyard/service/owner-storage";
import { serveRestart } from "@switchyard/service/serve-restart";
import { policyAnswers } from "@switchyard/tool-provider/policy-answers";
import { answersFromStore } from "@switchyard/service/answers-from-store";
import { constant } from "@switchyard/service/constant";
import { StoreError } from "@switchyard/service/store-error";
import { publishCommand } from "@switchyard/bus/publish";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { ActiveRuns } from "./journal/active-run.ts";
import type { RunnerParts } from "./run/runner-parts.ts";
import { PublishBehind } from "./run/publish-behind.ts";
import { sessionSettings, type RunnerConfig } from "./config.ts";
import { RUN_COMMANDS } from "./commands/control-command.ts";
import { handleFiles } from "./context/file-handlers.ts";
import { openFileStore } from "./context/file-store.ts";
import { handleModelQueries, handleRuns } from "./handlers.ts";
import type { RunEventRelay } from "./journal/event-publisher.ts";
import { createRunnerMetrics } from "./model/metrics.ts";
import { handleCompletions } from "./model/complete-once.ts";
import { openRuntimeHosts } from "./runtime/runtime-hosts.ts";
import { openProviderLimiter } from "./model/provider-limiter.ts";
import {
  openTeamLedger,
  NO_TEAM_LIMITS,
  openTeamLimits,
  type TeamLimitBook,
} from "./model/team-ledger.ts";
import { openDeadLetters } from "./commands/dead-letters.ts";
import { createActionAudit } from "./commands/action-audit.ts";
import { createModelRegistry, problemOfModel } from "./model/model-registry.ts";
import { modelsWithoutFile, openModelsFile, type ModelsConfig } from "./model/models-file.ts";
import { createServiceClients, isOutage, cacheDefinitions } from "./context/service-clients.ts";
import { openDeferredCommands } from "./journal/deferred-commands.ts";
import { createAnswerInspector } from "./waits/inspect-answer.ts";
import { openRunControls, type WakeRun } from "./journal/run-controls.ts";
import { openRunIndex } from "./journal/run-index.ts";
import { openRunDeletion } from "./journal/run-deletion.ts";
import { runHolding } from "./journal/run-storage.ts";
import { openRunStore } from "./journal/run-store.ts";
import { sessionHolding } from "./sessions/session-store.ts";
import { openSessions } from "./sessions/open-sessions.ts";
import { serveSessions } from "./sessions/serve-sessions.ts";
import { sweepSessions } from "./sessions/check-session.ts";
import { followApprovals, createMissedDecisions } from "./waits/follow-approvals.ts";
import { createFindLifted, followLifts } from "./waits/lifted-stops.ts";
import { openLargeTexts, type LargeTexts } from "./journal/large-texts.ts";
import { openArchiveObjects, type ArchiveObjects } from "./journal/archive-objects.ts";
import { openRunArchive, type RunArchive } from "./journal/run-archive.ts";
import { readS3Url, openS3Objects } from "./journal/s3-objects.ts";
import { openParkedRuns } from "./journal/parked-runs.ts";
import { openReplicaCopies, type ReplicaCopies } from "./journal/replica-copies.ts";
import { openUnsyncedEvents } from "./journal/unsynced-events.ts";
import { findLostEvents } from "./waits/find-lost-events.ts";
import { startSweeper, sweep } from "./waits/sweeper.ts";
import { createRunWorker } from "./queue/run-worker.ts";
import { MAX_TOOLS } from "./core/tool-catalogue.ts";

export const VERSION = "0.1.0";

/** A run keeps its slot for this time while its models are unavailable. */
const MODEL_OUTAGE_MS = 600_000;
/** A coding CLI whose run waits is kept for this time; after that it is resumed. */
const RUNTIME_LINGER_MS = 60_000;

/** The share of the drain budget that calls in flight may use; the rest is for handing their runs over. */
const WORK_SHARE = 0.8;
/** The share for publishing the last events of runs after that. */
const PUBLISH_SHARE = 0.1;
/** The number of concurrent steps of different owners' runs while they compete: no more than there are processors. */
const STEPS_AT_ONCE = 2;
const DAY_SECONDS = 86_400;

/** Assembles the runner and starts to serve and to consume. */
export async function startRunner(kit: ServiceKit<RunnerConfig>): Promise<void> {
  const { config, log, bus } = kit;
  const modelsConfig = await readModels(kit);
  const stopping = new AbortController();
  const wake = createRunWaker(bus, log);
  const audit = await startAudit({ ...kit, service: "runner", version: VERSION });
  // Steps are done in reverse order: after the runs.
  if (audit !== null) kit.onStop("audit", () => audit.stop());
  const journal = await openJournal(kit, wake);
  const parts = await openParts(kit, { modelsConfig, journal, audit, stopping: stopping.signal });
  const { controls, parked, unwritten, sessions, behind, now } = parts;

  const onFault = reportFaultTo(log);
  const about = { name: "runner", version: VERSION, description: "Runs agents" };
  const service = serve(bus, { ...about, onFault, interceptors: [answersFromStore] });
  const deletion = openRunDeletion({ ...kit, ...journal, index: parts.index, now });
  handleRuns(service, { ...parts, deletion, record: createActionAudit(audit) });
  handleFiles(service, parts);
  handleModelQueries(service, parts.models);
  handleCompletions(service, {
    models: parts.models,
    limiter: parts.limiter,
    choices: () => [modelsConfig.default, ...modelsConfig.sampling],
    idleTimeoutMs: modelIdleTimeoutMs(),
  });
  serveSessions(service, sessions);
  const approvals = followApprovals(bus, { controls, now, onFault });
  const findMissedDecisions = createMissedDecisions(bus, { controls, now });
  const lifts = followLifts(bus, { parked, controls, now, onFault });
  const findLifted = createFindLifted(bus, { controls, now });
  const sweepRuns = () => sweep({ parked, wake, findMissedDecisions, findLifted, now });
  const sweeper = startSweeper({
    everyMs: constant("runSweepMs", 1_000),
    lease: parked,
    rounds: [
      sweepRuns,
      () => sweepSessions(sessions, onFault),
      () => findLostEvents({ bus, unwritten, wake, log, now }),
      () => journal.texts.renew(),
      () => journal.archive.move(),
      () => journal.archive.renew(),
      () => deletion.erase(),
    ],
    onFault,
  });
  const consumption = consume(bus, {
    consumer: runCommands,
    commands: RUN_COMMANDS,
    concurrency: config.YARD_RUNNER_SLOTS,
    ...createRunWorker(parts),
    onFault,
  });
  kit.ready("policy", policyAnswers(bus));
  kit.onStop("runs", async () => {
    stopping.abort();
    approvals.stop();
    lifts.stop();
    // A slow store of the archive takes nothing from the time for handing runs over.
    await Promise.all([sweeper.stop(), consumption.stop(config.YARD_DRAIN_MS * WORK_SHARE)]);
    await behind.stop(config.YARD_DRAIN_MS * PUBLISH_SHARE);
  });
  serveRestart(service, restartRunner, kit.restart);
}

async function openParts(
  kit: ServiceKit<RunnerConfig>,
  {
    modelsConfig,
    journal,
    audit,
    stopping,
  }: { modelsConfig: ModelsConfig; journal: Journal; audit: Audit | null; stopping: AbortSignal },
): Promise<RunnerParts> {
  const { config, log, bus, redis, storage } = kit;
  const now = Date.now;
  const { instance, store, controls, keepSeconds } = journal;
  const parked = openParkedRuns(redis);
  const unwritten = openUnsyncedEvents(redis);
  const index = openRunIndex(redis, store, { keepSeconds });
  storage.lookUpWith(
    async (_owner, thing) =>
      (await runHolding(redis, thing, now)) ?? (await sessionHolding(redis, thing)),
  );
  const clients = createServiceClients(bus, instance, [
    cacheDefinitions(),
    retryOverloaded(Math.random),
  ]);
  const sessions = openSessions(kit, {
    controls,
    runs: store,
    clients,
    settings: sessionSettings(config),
    problemOfModel: (name) => problemOfModel(name, modelsConfig),
    now,
  });
  const runtimes = openRuntimeHosts({
    directory: join(config.YARD_STATE_DIR, "runtimes"),
    lingerMs: RUNTIME_LINGER_MS,
    env: kit.env,
  });
  kit.onStop("runtimes", () => runtimes.stop());
  return {
    bus,
    relay: createRelay(bus, log),
    store,
    controls,
    parked,
    letters: openDeadLetters(redis),
    storage,
    files: journal.files,
    kept: openDeferredCommands(redis, { storage }),
    active: new ActiveRuns(),
    index,
    log,
    clients,
    models: createModelRegistry(modelsConfig, kit.env, runtimes),
    runtimes,
    limiter: openProviderLimiter(redis),
    ledger: openTeamLedger(redis, { book: await openBook(kit), now }),
    sessions,
    behind: new PublishBehind({ parked, unwritten, log, now }),
    unwritten,
    executions: createExecutionAudit(audit),
    inspectAnswer: createAnswerInspector(store, audit),
    metrics: createRunnerMetrics(kit.metrics, config.YARD_RUNNER_SLOTS),
    turns: new FairTurns(STEPS_AT_ONCE),
    maxAttempts: constant("runMaxAttempts", 5),
    defaultTimeoutMs: config.YARD_RUN_TIMEOUT_MS,
    onLimit: config.YARD_RUN_ON_LIMIT,
    modelIdleTimeoutMs: modelIdleTimeoutMs(),
    modelOutageMs: MODEL_OUTAGE_MS,
    maxToolsPerAgent: MAX_TOOLS,
    stopping,
    now,
    random: Math.random,
  };
}

/** The stores of runs. */
interface Journal extends Pick<RunnerParts, "store" | "controls" | "files"> {
  /** The secret of this process, by which it is known as the holder of its runs. */
  readonly instance: string;
  readonly texts: LargeTexts;
  readonly archive: RunArchive;
  readonly keepSeconds: number;
}

async function openJournal(kit: ServiceKit<RunnerConfig>, wake: WakeRun): Promise<Journal> {
  const { config, redis, storage } = kit;
  const keepSeconds = config.YARD_RUN_KEEP_DAYS * DAY_SECONDS;
  const instance = randomBytes(32).toString("base64url");
  const holder = createHash("sha256").update(instance).digest("base64url");
  const copies = await openCopies(kit);
  const bucket = { storage: openBucketStorage(kit), now: Date.now };
  const texts = openLargeTexts(kit, bucket);
  const afterMs = config.YARD_RUN_ARCHIVE_MS;
  const objects = openObjects(kit);
  const archive = openRunArchive(kit, { objects, afterMs, storage, now: Date.now });
  const holdMs = runCommands.ackWaitMs;
  return {
    instance,
    texts,
    archive,
    keepSeconds,
    store: openRunStore(redis, { holdMs, holder, keepSeconds, copies, storage, texts, archive }),
    controls: openRunControls(redis, wake, storage, { texts, archive }),
    files: openFileStore(kit, bucket),
  };
}

/** The objects of the archive are in JetStream, or where the setting says. */
function openObjects({ bus, config, env }: ServiceKit<RunnerConfig>): ArchiveObjects {
  const { YARD_RUN_ARCHIVE_URL: url } = config;
  const location = url === undefined ? null : readS3Url(url);
  return openArchiveObjects(bus, location === null ? null : openS3Objects(location, env));
}

/** The bytes of files and large texts have a limit of their own, since they are not in Redis. */
function openBucketStorage(kit: ServiceKit<RunnerConfig>): OwnerStorage {
  const storage = createOwnerStorage({
    redis: kit.redis,
    room: { fill: 0, limitBytes: null, usedBytes: 0 },
    service: FILES_LEDGER,
    services: [FILES_LEDGER],
    limitBytes: kit.config.YARD_FILES_MIB * 1024 ** 2,
    now: Date.now,
    onTrouble: (err) => kit.log.warn({ err }, "bytes of files cannot be counted"),
  });
  kit.onStop("files", () => storage.stop());
  return storage;
}

async function openCopies(kit: ServiceKit<RunnerConfig>): Promise<ReplicaCopies | undefined> {
  const { YARD_REDIS_WAIT_REPLICAS: replicas } = kit.config;
  if (replicas === 0) return undefined;
  const copies = await openReplicaCopies(kit.redis, replicas);
  // Steps are done in reverse order: after the runs.
  kit.onStop("copies", async () => copies.close());
  return copies;
}

async function readModels(kit: ServiceKit<RunnerConfig>): Promise<ModelsConfig> {
  const { YARD_MODELS_FILE: file } = kit.config;
  if (file === undefined) return modelsWithoutFile(kit.env);
  const models = await openModelsFile(file, kit.log);
  kit.onStop("models file", async () => models.close());
  return models.config;
}

async function openBook({ config, log }: ServiceKit<RunnerConfig>): Promise<TeamLimitBook> {
  const { YARD_TEAM_LIMITS_FILE: file } = config;
  return file === undefined ? NO_TEAM_LIMITS : openTeamLimits(file, { log, now: Date.now });
}

function createRelay(bus: Bus, log: Log): RunEventRelay {
  return new EventRelay(bus, {
    isOutage,
    onTrouble: (err) => log.warn({ err }, "events of runs cannot be stored"),
    onRecovered: () => log.info("events of runs are stored again"),
  });
}

/** The silence after which a provider, or a coding CLI, is given up. */
function modelIdleTimeoutMs(): number {
  return constant("modelIdleTimeoutMs", 120_000);
}

/** Logs the failure of a handler or of the queue: an outage ends by itself, anything else is a fault. */
function reportFaultTo(log: Log): (fault: { readonly error: unknown }) => void {
  return ({ error, ...where }) => {
    if (isOutage(error) || error instanceof StoreError) {
      log.warn({ err: error, ...where }, "dependency unavailable");
    } else {
      log.error({ err: error, ...where }, "fault");
    }
  };
}

/** A wake-up that cannot be published is not a failure: the sweeper sends it again. */
function createRunWaker(bus: Bus, log: Log): WakeRun {
  return async (runId) => {
    try {
      await publishCommand(bus, resumeRun, { runId }, {}, { correlationId: runId });
      return true;
    } catch (err) {
      if (!isOutage(err)) throw err;
      log.warn({ runId, err }, "wake-up not sent");
      return false;
    }
  };
}
