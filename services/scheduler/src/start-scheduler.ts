import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { serve } from "@switchyard/bus/serve";
import { restartScheduler } from "@switchyard/contracts/restarts";
import { serveRestart } from "@switchyard/service/serve-restart";
import { createEgressGuard } from "@switchyard/service/network/egress-guard";
import type { ServiceKit } from "@switchyard/service/define-service";
import { StartError } from "@switchyard/service/start-error";
import { HOSTS_SETTING, type SchedulerConfig } from "./config.ts";
import { serveReads } from "./requests/read-requests.ts";
import { serveWrites } from "./requests/write-requests.ts";
import { answersFromStore } from "@switchyard/service/answers-from-store";
import { jobHolding, openJobStore } from "./store/job-store.ts";
import { subscribeTrigger } from "./triggers/subscribe-trigger.ts";
import { reconcile } from "./triggers/reconcile.ts";
import {
  NO_TRIGGERS,
  readTriggers,
  TriggersFileError,
  type Triggers,
} from "@switchyard/project/triggers/triggers-file";
import { startSweeper } from "./work/sweeper.ts";
import { constant } from "@switchyard/service/constant";

/** Failures of a job in a row after which `schedule.failing` is published, and again after each so many more. */
const ALERT_AFTER = 3;

export interface Scheduler {
  /** No new request and no new job → those in hand end. */
  stop(): Promise<void>;
}

/** Starts the scheduler on an open bus. Rejects with a StartError when triggers.yaml cannot be used. */
export async function startScheduler({
  bus,
  redis,
  storage,
  log,
  config,
  version,
  restart,
}: ServiceKit<SchedulerConfig> & { readonly version: string }): Promise<Scheduler> {
  const triggers = await loadTriggers(config.YARD_TRIGGERS_FILE);
  const now = Date.now;
  const store = openJobStore(redis, storage, now);
  storage.lookUpWith((_owner, thing) => jobHolding(redis, thing, now));
  const settings = {
    heartbeatMs: constant("schedulesHeartbeatMs", 1_800_000),
    agent: config.YARD_SCHEDULES_AGENT,
  };
  const guard = createEgressGuard({
    permitted: config.YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS,
    setting: HOSTS_SETTING,
  });
  const reconciled = await reconcile(store, triggers.declarations, now);
  log.info({ triggers: triggers.declarations.length, ...reconciled }, "triggers in force");
  const sweeper = startSweeper({
    ...settings,
    bus,
    store,
    guard,
    log,
    now,
    alertAfter: ALERT_AFTER,
  });
  const service = serve(bus, {
    name: "scheduler",
    version,
    description: "Runs agents when it is time",
    interceptors: [answersFromStore],
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
  const mostJobs = constant("schedulesPerCaller", 100);
  serveReads(service, { store, mostJobs, heartbeatMs: settings.heartbeatMs });
  const onChange = (): void => sweeper.wake();
  serveWrites(service, { ...settings, store, storage, mostJobs, now, onChange });
  const triggered = triggers.messages.filter(({ enabled }) => enabled);
  const subscriptions = triggered.map((trigger) =>
    subscribeTrigger(trigger, { ...settings, bus, log, store, now, onChange }),
  );
  serveRestart(service, restartScheduler, restart);
  return {
    async stop() {
      await Promise.all(subscriptions.map((subscription) => subscription.stop()));
      await service.drain();
      await sweeper.stop();
    },
  };
}

async function loadTriggers(path: string | undefined): Promise<Triggers> {
  if (path === undefined) return NO_TRIGGERS;
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    const hint =
      "name a file that is there, or unset it; version: 1 and triggers: [] make one without triggers";
    throw new StartError(`YARD_TRIGGERS_FILE cannot be read: ${String(cause)}`, { hint, cause });
  });
  try {
    return readTriggers(text, basename(path));
  } catch (cause) {
    if (!(cause instanceof TriggersFileError)) throw cause;
    throw new StartError(cause.message, {
      hint: "docs/schedules.md#triggers describes its contents",
      cause,
    });
  }
}
