import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { publishLive } from "@switchyard/bus/publish";
import { callProgress, cancelCallAt } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { bundleActivated } from "@switchyard/contracts/policy/policy-bundles";
import { createExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import type { Audit } from "@switchyard/audit/start-audit";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { createApprovalGate } from "@switchyard/tool-provider/approval-gate";
import { createCallOnce } from "@switchyard/tool-provider/call-once";
import { createCallStore } from "@switchyard/tool-provider/call-store";
import { createCallsInWork } from "@switchyard/tool-provider/calls-in-work";
import { type CancelDeps, askHolder } from "@switchyard/tool-provider/cancel-call";
import { createDecisionCache } from "@switchyard/tool-provider/decision-cache";
import { createMaskStore, MASKS_LOST } from "@switchyard/tool-provider/mask-store";
import { createPolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { FactsOf, RolesOf } from "@switchyard/tool-provider/server-access";
import { client } from "@switchyard/bus/call";
import type { CallDeps } from "./call-tool.ts";

/** The checks and records that every call passes on its way to any server. */
export type CallPath = CancelDeps & Omit<CallDeps, "pool" | "sender"> & { stop(): void };

export interface CallPathOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  /** Called for every check of a tool call, with whether a cached decision answered it. */
  readonly onChecked: (isHit: boolean) => void;
  readonly rolesOf: RolesOf;
  readonly factsOf: FactsOf;
  readonly storage: OwnerStorage;
  /** The audit that records calls; null records nothing. */
  readonly audit: Audit | null;
  /** The keys that encrypt the values behind masks; none: no mask can be turned back. */
  readonly maskKeys: readonly Buffer[];
  /** True when decisions are cached that the policy marks as cacheable. */
  readonly decisionCache: boolean;
}

export function createCallPath(options: CallPathOptions): CallPath {
  const { bus, redis, log, rolesOf, factsOf, onChecked } = options;
  const holder = randomBytes(8).toString("hex");
  const store = createCallStore(redis, holder, options.storage);
  // A clock that continues while the process is stopped: entries are old when it wakes up.
  const cache = options.decisionCache ? createDecisionCache(() => performance.now()) : null;
  // The promised time makes the cache correct; this only empties it sooner.
  const following = cache === null ? null : follow(bus, bundleActivated, () => cache.clear());
  const calls = createCallsInWork(bus);
  return {
    calls,
    executions: createExecutionAudit(options.audit),
    masks: createMaskStore({
      redis,
      storage: options.storage,
      keys: options.maskKeys,
      onLost: (err) => log.error({ err }, MASKS_LOST),
    }),
    approvals: createApprovalGate(bus, {
      onNotSettled: (err, approvalId) => log.warn({ err, approvalId }, "approval not settled"),
    }),
    store,
    claims: {
      store,
      once: createCallOnce({
        store,
        onNotStored: (err) => log.error({ err }, "call outcome not stored yet; trying again"),
      }),
    },
    gate: createPolicyGate(bus, { cache, rolesOf, factsOf, onChecked }),
    holder,
    passOn: createCancelPasser(bus),
    publishProgress: (to, progress) => publishLive(bus, callProgress, to, progress),
    stop: () => {
      following?.stop();
      calls.stop();
    },
  };
}

/** Forwards a cancellation to the broker that has the call. */
export function createCancelPasser(bus: Bus): CancelDeps["passOn"] {
  const brokers = client(bus, { cancelCallAt });
  return (broker, { server, ...request }, requester) => {
    if (server === null) throw new TypeError("every call that a broker has is of a server");
    const { onBehalfOf } = requester;
    return askHolder(requester, (limits) =>
      brokers.cancelCallAt({ ...request, server, onBehalfOf }, { tokens: { broker }, ...limits }),
    );
  };
}
