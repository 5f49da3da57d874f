import type { Stop } from "@switchyard/contracts/policy/policy-budgets";
import { replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { setTimeout as delay } from "node:timers/promises";
import { shownKinds } from "@switchyard/rules/engine/approve-terms";
import { readCipherKeyFile } from "@switchyard/service/keys-directory";
import { createMaskStore } from "@switchyard/tool-provider/mask-store";
import { serve } from "@switchyard/bus/serve";
import { defineService, type ServiceKit } from "@switchyard/service/define-service";
import type { z } from "zod";
import { startApprovals, type ApprovalsOptions } from "./approvals/start-approvals.ts";
import { serveAuditQueries } from "./audit/audit-queries.ts";
import { startPolicyAudit, type PolicyAudit } from "./start-policy-audit.ts";
import { announceBundles } from "./versions/announce-bundles.ts";
import { createBudgetStore } from "./budgets/budget-store.ts";
import { explainCall, type Circumstances } from "./calls/judge-call.ts";
import { countsOfApprovals } from "./calls/record-outcome.ts";
import { isStoppedBy, stopReason } from "./stops/stop-list.ts";
import { Config } from "./config.ts";
import { createHandlers, serveHandlers } from "./handlers.ts";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { bundleName, PolicyFile } from "./versions/policy-file.ts";
import { createDecisionLeases, LONGEST_LEASE_MS } from "./calls/decision-leases.ts";
import { createPolicyMetrics } from "./policy-metrics.ts";
import { startTokens } from "./tokens/start-tokens.ts";
import { createServerFactsMemory, type ServerFactsMemory } from "./calls/server-facts-memory.ts";
import { termsOfCall } from "@switchyard/rules/engine/evaluate";
import { mayApprove } from "@switchyard/rules/rights/may-approve";
import { hasRight } from "@switchyard/rules/rights/has-right";
import { createRunRecords } from "./runs/run-records.ts";
import { createValidator } from "./versions/validator.ts";
import { startSharedState } from "./shared-state.ts";
import { openUserStores, startUsers } from "./users/start-users.ts";
import { verifyUser } from "./users/user-handlers.ts";
import { constant } from "@switchyard/service/constant";

const version = "0.1.0";

export const policyService = defineService({
  name: "policy",
  user: "policy",
  version,
  env: Config,
  async start(kit) {
    const { config, log, bus } = kit;
    const { YARD_POLICY_FILE: path, YARD_ADMINS: admins } = config;
    const now = Date.now;
    const audit = await startPolicyAudit(kit, version);
    const metrics = createPolicyMetrics(kit.metrics, bundleName(path));
    const news = announceBundles({ bus, log, metrics, path, now });
    const leases = createDecisionLeases({ now: () => performance.now(), wait: delay });
    // A predecessor that was killed could not withdraw the leases that it had issued.
    await delay(Math.max(0, kit.begunAtMs + LONGEST_LEASE_MS - performance.now()));
    const shared = await startSharedState(kit, path, now);
    const { stops } = shared;
    const onRefused = audit.decisions.refused;
    const { keyRing, identify } = await startTokens(kit, { stops, onRefused, now });
    audit.signWith(keyRing.signText);
    const policyFile = await PolicyFile.open({
      path,
      ...shared.atStart,
      ...news,
      beforeChange: () => leases.withdraw(),
      afterChange: () => leases.resume(),
    });
    // Steps run in reverse: the file first. The replica that takes over may have other rules.
    kit.onStop("kept decisions", () => leases.withdraw());
    kit.onStop("policy file", () => policyFile.stop());
    shared.follow(policyFile);

    const [validator, facts] = [createValidator(), createServerFactsMemory()];
    const budgets = createBudgetStore(kit.redis);
    const handlers = createHandlers({
      facts,
      bundle: () => policyFile.current,
      texts: () => policyFile.texts,
      validator,
      identify,
      keyRing,
      leases,
      stops,
      runs: createRunRecords(kit.redis),
      budgets,
      audit: audit.decisions,
      replaying: replayingOf(audit),
      metrics,
      now,
    });
    const service = serve(bus, {
      name: "policy",
      version,
      description: "Decides about tool calls and mints run tokens",
      verifyUser: (token, storedAt) => verifyUser({ verify: keyRing.verifyUser }, token, storedAt),
      onFault: ({ error, contract, correlationId }) =>
        log.error({ err: error, contract, correlationId }, "handler fault"),
    });
    // Requests in progress are recorded before the audit ends.
    kit.onStop("service", () => service.drain());
    const users = openUserStores(kit.redis, now);
    const approvals = startApprovals({
      chatLinks: users.chatLinks,
      bus,
      redis: kit.redis,
      storage: kit.storage,
      log,
      service,
      identify,
      stops,
      policyDigest: () => policyFile.current.digest,
      ...countsOfApprovals(budgets, () => policyFile.current),
      decisionOn: decisionOf({ bundle: () => policyFile.current, stops, budgets, facts, now }),
      ...approversOf(config, { bundle: () => policyFile.current, facts, now }),
      ...(await unmasking(kit, () => policyFile.current)),
      ...auditOfApprovals(audit),
      now,
    });
    kit.onStop("approvals", () => approvals.stop());
    serveHandlers(service, handlers);
    serveAuditQueries(service, { bus, admins, keyRing, now });
    await startUsers(kit, { ...users, service, keyRing, accessed: audit.accessed, now });
    // Without it they expire: a call that is stopped does not pass, even when a person approved it.
    const endStopped = (stop: Stop): Promise<void> =>
      approvals
        .end((one) => isStoppedBy(stop, one), stopReason(stop))
        .catch((err: unknown) => log.warn({ err }, "approvals of a stop not ended"));
    shared.serve(service, { policyFile, validator, admins, endStopped });
  },
});

/** Reading encrypted arguments is an access of its own in the audit. */
function replayingOf({
  valueKeys: keys,
  accessed,
}: PolicyAudit): Parameters<typeof createHandlers>[0]["replaying"] {
  return {
    keys,
    onOpen: ({ caller, count, requestId }) =>
      accessed({
        kind: "access",
        change: "unmasked",
        caller,
        credential: null,
        address: "nats",
        operation: replayDecisions.name,
        about: `encrypted arguments of ${count} recorded decisions`,
        requestId,
      }),
  };
}

function auditOfApprovals({ accessed, approvals, decisions, signer }: PolicyAudit) {
  return { accessed, audited: approvals, recordable: decisions.admit, signer };
}

/** The masks of runs, to be turned back for approvers; the policy service makes none. */
async function unmasking(
  { redis, config }: ServiceKit<z.output<typeof Config>>,
  bundle: () => CompiledBundle,
): Promise<Pick<ApprovalsOptions, "masks" | "kindsFor">> {
  const keys = await readCipherKeyFile(config.YARD_KEYS_DIR, "masks.key");
  return {
    masks: createMaskStore({ redis, keys, onLost: () => undefined }),
    kindsFor: (approval) => shownKinds(bundle(), approval),
  };
}

/** Decides about a call without counting it, as a person changes it. What the agent itself may not do is checked when it is made. */
function decisionOf({
  bundle,
  facts,
  now,
  ...around
}: Omit<Circumstances, "bundle"> & {
  readonly bundle: () => CompiledBundle;
  readonly facts: ServerFactsMemory;
  readonly now: () => number;
}): ApprovalsOptions["decisionOn"] {
  return async (about) => {
    const at = { nowMs: now() };
    const call = { ...about, layers: null, server: facts.of(about.tool), facts: at };
    return (await explainCall({ ...around, bundle: bundle() }, call)).decision;
  };
}

type Approvers = Pick<
  ApprovalsOptions,
  "settings" | "termsOf" | "waitMs" | "promptsPerRun" | "pendingPerUser"
>;

/** The settings and rules about the people who approve; the rules in force count. */
function approversOf(
  config: z.output<typeof Config>,
  {
    bundle,
    facts,
    now,
  }: { bundle: () => CompiledBundle; facts: ServerFactsMemory; now: () => number },
): Approvers {
  return {
    settings: {
      approvers: config.YARD_APPROVERS,
      own: config.YARD_APPROVE_OWN,
      mayApprove: (user) => mayApprove(bundle(), user),
      mayApproveOwn: (user) => hasRight(bundle().rights, "approve-own", user),
      people: () => bundle().people,
      namesPeople: () => bundle().approving.some(({ approve }) => approve.from !== undefined),
      now,
    },
    termsOf({ approveRules: named, ...about }) {
      const at = { nowMs: now() };
      const call = { ...about, layers: null, server: facts.of(about.tool), facts: at };
      return termsOfCall(bundle(), { call, named, now: now() });
    },
    waitMs: constant("approvalWaitMs", 86_400_000),
    promptsPerRun: constant("approvalPromptsPerRun", 30),
    pendingPerUser: constant("approvalsPendingPerUser", 500),
  };
}
