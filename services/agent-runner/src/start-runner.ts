import { consume } from "@switchyard/bus/consume";
import { serve } from "@switchyard/bus/serve";
import { startRun } from "@switchyard/contracts/runs";
import { runCommands } from "@switchyard/contracts/streams";
import type { ServiceKit } from "@switchyard/service/run-service";
import type { RunnerConfig } from "./config.ts";
import { reportFaultTo } from "./fault-report.ts";
import { handleRunQueries } from "./handlers.ts";
import { createRunnerMetrics } from "./metrics.ts";
import { createModelRegistry } from "./model-registry.ts";
import { readModelsFile, SCRIPTED_ONLY } from "./models-file.ts";
import { createPeers } from "./peers.ts";
import { openRunIndex } from "./run-index.ts";
import { openRunStore } from "./run-store.ts";
import { createRunWorker } from "./run-worker.ts";

export const VERSION = "0.1.0";

/** Share of the drain budget that calls in flight may use; the rest is for handing their runs over. */
const WORK_SHARE = 0.8;

/** Puts the runner together and starts to serve and to consume. */
export async function startRunner(kit: ServiceKit<RunnerConfig>): Promise<void> {
  const { config, log, bus, redis } = kit;
  const { YARD_MODELS_FILE: file } = config;
  const models = file === undefined ? SCRIPTED_ONLY : await readModelsFile(file);
  const store = openRunStore(redis, { holdMs: runCommands.ackWaitMs });
  const index = openRunIndex(redis, store);
  const stopping = new AbortController();
  const worker = createRunWorker({
    bus,
    store,
    index,
    log,
    peers: createPeers(bus),
    models: createModelRegistry(models, process.env),
    metrics: createRunnerMetrics(kit.metrics),
    maxAttempts: config.YARD_RUN_MAX_ATTEMPTS,
    defaultTimeoutMs: config.YARD_RUN_TIMEOUT_MS,
    modelIdleTimeoutMs: config.YARD_MODEL_IDLE_TIMEOUT_MS,
    stopping: stopping.signal,
    now: Date.now,
    random: Math.random,
  });

  const onFault = reportFaultTo(log);
  const service = serve(bus, {
    name: "runner",
    version: VERSION,
    description: "Runs agents",
    onFault,
  });
  handleRunQueries(service, index);
  const consumption = consume(bus, {
    consumer: runCommands,
    commands: [startRun],
    concurrency: config.YARD_RUNNER_SLOTS,
    ...worker,
    onFault,
  });
  kit.onStop("runs", async () => {
    stopping.abort();
    await consumption.stop(config.YARD_DRAIN_MS * WORK_SHARE);
  });
}
