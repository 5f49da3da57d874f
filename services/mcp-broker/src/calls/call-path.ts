import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/connect";
import { follow } from "@switchyard/bus/follow";
import { publishLive } from "@switchyard/bus/publish";
import { callProgress } from "@switchyard/contracts/mcp-calls";
import { bundleActivated } from "@switchyard/contracts/policy-bundles";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import type { AskToOpen } from "../server-requests/ask-to-open.ts";
import type { RequestOrigins } from "../server-requests/request-origins.ts";
import { createExecutionAudit } from "@switchyard/service/audit/execution-audit";
import type { Audit } from "@switchyard/service/audit/start-audit";
import { createArrivingCalls } from "@switchyard/service/tool-provider/arriving-calls";
import { createCallOnce } from "@switchyard/service/tool-provider/call-once";
import { createCallStore } from "@switchyard/service/tool-provider/call-store";
import type { CallToolDeps } from "./call-tool.ts";
import type { CancelDeps } from "@switchyard/service/tool-provider/cancel-call";
import { createCancelPasser } from "./pass-cancel.ts";
import { createDecisionCache } from "@switchyard/service/tool-provider/decision-cache";
import { createPolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import { createRunEpochs } from "@switchyard/service/tool-provider/run-epochs";
import { createApprovalGate } from "@switchyard/service/tool-provider/approval-gate";
import { createStopWatch } from "@switchyard/service/tool-provider/stop-watch";
import { createRunningCalls } from "@switchyard/service/tool-provider/running-calls";
import type { FactsOf, RolesOf } from "@switchyard/service/tool-provider/server-access";

/** What every call passes on its way, whatever its server. */
export type CallPath = CancelDeps &
  Omit<CallToolDeps, "connection" | "queue" | "route"> & { stop(): void };

export interface CallPathOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  /** Hears of every check of a tool call, and whether a kept decision answered it. */
  readonly onChecked: (isHit: boolean) => void;
  readonly rolesOf: RolesOf;
  readonly factsOf: FactsOf;
  readonly origins: RequestOrigins;
  readonly askToOpen: AskToOpen;
  /** Where calls are recorded; null records nothing. */
  readonly audit: Audit | null;
  /** Whether decisions that the policy lets keep are kept. */
  readonly decisionCache: boolean;
}

export function createCallPath(options: CallPathOptions): CallPath {
  const { bus, redis, log, rolesOf, factsOf, onChecked } = options;
  const holder = randomBytes(8).toString("hex");
  const store = createCallStore(redis, holder);
  // A clock that goes on while the process is stopped: what it kept is old when it wakes up.
  const cache = options.decisionCache ? createDecisionCache(() => performance.now()) : null;
  // The promised time makes the cache right; this makes it empty sooner.
  const following = cache === null ? null : follow(bus, bundleActivated, () => cache.clear());
  const stops = createStopWatch(bus);
  return {
    stops,
    executions: createExecutionAudit(options.audit),
    approvals: createApprovalGate(bus, {
      onNotSettled: (err, approvalId) => log.warn({ err, approvalId }, "approval not settled"),
    }),
    store,
    once: createCallOnce({
      store,
      onNotStored: (err) => log.error({ err }, "call outcome not stored yet; trying again"),
    }),
    gate: createPolicyGate(bus, {
      cache,
      rolesOf,
      factsOf,
      onChecked,
    }),
    running: createRunningCalls(),
    arriving: createArrivingCalls(),
    holder,
    passOn: createCancelPasser(bus),
    epochs: createRunEpochs(redis),
    tellProgress: (to, progress) => publishLive(bus, callProgress, to, progress),
    origins: options.origins,
    askToOpen: options.askToOpen,
    now: Date.now,
    stop: () => {
      following?.stop();
      stops.stop();
    },
  };
}
