import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/connect";
import { follow } from "@switchyard/bus/follow";
import { publishLive } from "@switchyard/bus/publish";
import { callProgress } from "@switchyard/contracts/mcp-calls";
import { bundleActivated } from "@switchyard/contracts/policy";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import type { BrokerMetrics } from "../broker-metrics.ts";
import type { RequestOrigins } from "../features/request-origins.ts";
import { createCallOnce } from "./call-once.ts";
import { createCallStore } from "./call-store.ts";
import type { CallToolDeps } from "./call-tool.ts";
import { createCancelPasser, type CancelDeps } from "./cancel-call.ts";
import { createDecisionCache } from "./decision-cache.ts";
import { createPolicyGate } from "./policy-gate.ts";
import { createRunEpochs } from "./run-epochs.ts";
import { createRunningCalls } from "./running-calls.ts";
import type { RolesOf } from "./server-access.ts";

/** What every call passes on its way, whatever its server. */
export type CallPath = CancelDeps &
  Omit<CallToolDeps, "connection" | "queue" | "route"> & { stop(): void };

export interface CallPathOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly metrics: BrokerMetrics;
  readonly rolesOf: RolesOf;
  readonly origins: RequestOrigins;
  /** Whether decisions that the policy lets keep are kept. */
  readonly decisionCache: boolean;
}

export function createCallPath(options: CallPathOptions): CallPath {
  const { bus, redis, log, metrics, rolesOf } = options;
  const broker = randomBytes(8).toString("hex");
  const store = createCallStore(redis, broker);
  // A clock that goes on while the process is stopped: what it kept is old when it wakes up.
  const cache = options.decisionCache ? createDecisionCache(() => performance.now()) : null;
  // The promised time makes the cache right; this makes it empty sooner.
  const following = cache === null ? null : follow(bus, bundleActivated, () => cache.clear());
  return {
    store,
    once: createCallOnce({
      store,
      onNotStored: (err) => log.error({ err }, "call outcome not stored"),
    }),
    gate: createPolicyGate(bus, {
      cache,
      rolesOf,
      onChecked: (isHit) => metrics.countDecision(isHit),
    }),
    running: createRunningCalls(),
    broker,
    passOn: createCancelPasser(bus),
    epochs: createRunEpochs(redis),
    tellProgress: (to, progress) => publishLive(bus, callProgress, to, progress),
    origins: options.origins,
    now: Date.now,
    stop: () => following?.stop(),
  };
}
