import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { consume } from "@switchyard/bus/consume";
import { follow } from "@switchyard/bus/follow";
import type { Service } from "@switchyard/bus/serve";
import { expireApproval } from "@switchyard/contracts/policy/approval-events";
import { readCallContext } from "@switchyard/contracts/agent-runner/call-context";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { bundleActivated } from "@switchyard/contracts/policy/policy-bundles";
import { approvalCommands } from "@switchyard/topology/streams";
import { ApprovalsUnavailable, type Approval } from "@switchyard/contracts/policy/approval-record";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { Finding } from "@switchyard/contracts/policy/findings";
import type { MaskStore } from "@switchyard/tool-provider/mask-store";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import type { StopList } from "../stops/stop-list.ts";
import type { DecisionAudit } from "../audit/decision-audit.ts";
import type { DecisionSigner } from "../audit/decision-signer.ts";
import type { Identify } from "../tokens/identify.ts";
import type { ChatLinks } from "../users/chat-links.ts";
import { handleApprovals, type ApprovalHandlerDeps } from "./approval-handlers.ts";
import { handleGrants } from "./grant-handlers.ts";
import { createApprovalIndex } from "./approval-index.ts";
import { createApprovalReporter, type ApprovalReporter } from "./approval-reporter.ts";
import { createApprovalStore } from "./approval-store.ts";
import {
  endAll,
  endOfOtherRules,
  expireDue,
  expireOne,
  type Concerned,
} from "./approval-upkeep.ts";
import type { ApproverSettings } from "./approver.ts";
import { followCancelledRuns } from "./cancelled-runs.ts";
import { handleChatDecisions } from "./chat-decisions.ts";
import { createGrantStore } from "./grant-store.ts";
import { createLastApproved } from "./last-approved.ts";
import { createUnmask } from "./unmask-arguments.ts";
import { createPromptLimit } from "./prompt-limit.ts";

export interface ApprovalsOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly storage: OwnerStorage;
  readonly log: Log;
  readonly service: Service;
  readonly identify: Identify;
  readonly stops: Pick<StopList, "find" | "isCurrent">;
  readonly policyDigest: () => string;
  readonly uncount: ApprovalHandlerDeps["uncount"];
  readonly recordOutcome: ApprovalHandlerDeps["recordOutcome"];
  readonly termsOf: ApprovalHandlerDeps["termsOf"];
  readonly decisionOn: ApprovalHandlerDeps["decisionOn"];
  readonly settings: ApproverSettings;
  /** Wraps the reporter in one that records. */
  readonly audited: (reporter: ApprovalReporter) => ApprovalReporter;
  readonly recordable: DecisionAudit["admit"];
  /** Null when decisions are not recorded. */
  readonly signer: DecisionSigner | null;
  readonly chatLinks: ChatLinks;
  readonly masks: Pick<MaskStore, "values">;
  /** Returns the kinds of masked values that approvers of the call are shown. */
  readonly kindsFor: (approval: Approval) => readonly Finding[];
  readonly accessed: (fact: Extract<AuditFact, { kind: "access" }>) => void;
  readonly waitMs: number;
  /** The number of prompts that a run may cause in an hour. */
  readonly promptsPerRun: number;
  /** The number of calls of one user that may wait for a person at a time. */
  readonly pendingPerUser: number;
  readonly now: () => number;
}

export interface Approvals {
  /** Ends matching pending approvals and grants. */
  end(fits: (one: Concerned) => boolean, reason: string): Promise<void>;
  stop(): Promise<void>;
}

/** Expires approvals whose timers were lost, which is rare, and harmless until then. */
const SWEEP_MS = 30_000;
const EXPIRING = 32;

/** Serves approvals, and ends those whose time is over or whose rules were replaced. */
export function startApprovals(options: ApprovalsOptions): Approvals {
  const { bus, redis, log, service, policyDigest, now } = options;
  const deps = {
    store: createApprovalStore(redis, options.storage),
    index: createApprovalIndex(redis),
    grants: createGrantStore(redis),
    lastApproved: createLastApproved(redis, log),
    promptLimit: createPromptLimit(redis, options.promptsPerRun),
    pendingPerUser: options.pendingPerUser,
    report: options.audited(createApprovalReporter({ bus, log, now })),
    recordable: options.recordable,
    signer: options.signer,
    settings: options.settings,
    identify: options.identify,
    stops: options.stops,
    uncount: options.uncount,
    recordOutcome: options.recordOutcome,
    termsOf: options.termsOf,
    decisionOn: options.decisionOn,
    kindsFor: options.kindsFor,
    contextOf: contextReader(bus),
    unmask: createUnmask({
      masks: options.masks,
      settings: options.settings,
      kindsFor: options.kindsFor,
      canRecord: () => isRecordable(options),
      record: options.accessed,
      log,
    }),
    waitMs: options.waitMs,
    policyDigest,
    now,
  };
  handleApprovals(service, deps);
  handleGrants(service, deps);
  handleChatDecisions(service, { ...deps, chatLinks: options.chatLinks });

  const onError = (err: unknown): void => log.warn({ err }, "approvals not looked through");
  const attempt = (work: Promise<void>): void => void work.catch(onError);
  const endOthers = (): void => attempt(endOfOtherRules(deps, policyDigest()));
  const sweep = (): void => attempt(expireDue(deps));
  const timer = setInterval(sweep, SWEEP_MS);
  // The bundle may have changed while no replica was running.
  endOthers();
  sweep();
  const following = [
    follow(bus, bundleActivated, endOthers),
    followCancelledRuns(bus, deps, onError),
  ];
  const expiring = consume(bus, {
    consumer: approvalCommands,
    commands: [expireApproval],
    concurrency: EXPIRING,
    async handle(delivery) {
      if (delivery.kind === "command") await expireOne(deps, delivery.tokens.id ?? "");
      return { outcome: "done" };
    },
    onFault: ({ error, subject }) => log.warn({ err: error, subject }, "approval timer trouble"),
  });

  return {
    end: (fits, reason) => endAll(deps, fits, reason),
    async stop() {
      clearInterval(timer);
      for (const each of following) each.stop();
      await expiring.stop();
    },
  };
}

function isRecordable({ recordable }: Pick<ApprovalsOptions, "recordable">): boolean {
  try {
    recordable(failuresOf({ approvals_unavailable: ApprovalsUnavailable }).approvals_unavailable);
    return true;
  } catch {
    return false;
  }
}

/** Reads the context of a call from the runner. An approval is shown without it while no runner answers. */
function contextReader(bus: Bus): ApprovalHandlerDeps["contextOf"] {
  const runner = client(bus, { readCallContext });
  return async ({ principal: { runId }, callId }) => {
    if (runId === null || callId === null) return null;
    try {
      return (await runner.readCallContext({ runId, callId })).context;
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  };
}
