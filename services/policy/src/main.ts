import { setTimeout as delay } from "node:timers/promises";
import { serve } from "@switchyard/bus/serve";
import {
  checkPolicy,
  explainPolicy,
  filterPolicy,
  grantRun,
  validatePolicy,
} from "@switchyard/contracts/policy";
import { releaseCall } from "@switchyard/contracts/policy-budgets";
import { whoCanCall } from "@switchyard/contracts/policy-bundles";
import { runService } from "@switchyard/service/run-service";
import { createRunTokenSigner, createRunTokenVerifier } from "@switchyard/service/run-token";
import { startApprovals } from "./approvals/start-approvals.ts";
import { announceBundles } from "./bundle/bundle-news.ts";
import { createBudgetStore } from "./budgets/budget-store.ts";
import { Config } from "./config.ts";
import { createHandlers } from "./handlers.ts";
import { bundleName, PolicyFile } from "./bundle/policy-file.ts";
import { createDecisionLeases, LONGEST_LEASE_MS } from "./engine/decision-leases.ts";
import { createPolicyMetrics } from "./policy-metrics.ts";
import { createIdentify } from "./tokens/identify.ts";
import { tellRefusedTokens } from "./tokens/refused-tokens.ts";
import { readRunTokenKey } from "./tokens/run-token-key.ts";
import { createValidator } from "./bundle/validator.ts";
import { startSharedState } from "./shared-state.ts";

const version = "0.1.0";

await runService({
  name: "policy",
  user: "policy",
  version,
  env: Config,
  async start(kit) {
    const { config, log, bus } = kit;
    const path = config.YARD_POLICY_FILE;
    const keyFile = config.YARD_RUN_TOKEN_KEY_FILE;
    const now = Date.now;
    const key = await readRunTokenKey(keyFile);
    if (key.isExposed) log.warn({ keyFile }, "run token key is open to other users, use mode 0600");

    const metrics = createPolicyMetrics(kit.metrics, bundleName(path));
    const news = announceBundles({ bus, log, metrics, path, now });
    const leases = createDecisionLeases({ now: () => performance.now(), wait: delay });
    // A predecessor that was killed could not take back what it had given out.
    await delay(Math.max(0, LONGEST_LEASE_MS - process.uptime() * 1_000));
    const shared = await startSharedState(kit, path, now);
    const policyFile = await PolicyFile.open({
      path,
      pinned: shared.pinned,
      ...news,
      beforeChange: () => leases.withdraw(),
      afterChange: () => leases.resume(),
    });
    // Steps run in reverse: the file first. Whoever takes this one's place may have other rules.
    kit.onStop("kept decisions", () => leases.withdraw());
    kit.onStop("policy file", () => policyFile.stop());
    shared.follow(policyFile);

    const verify = await createRunTokenVerifier([key.publicJwk, ...key.olderPublicJwks], { now });
    const refusedTokens = tellRefusedTokens({ bus, log, now });
    kit.onStop("refused tokens", () => refusedTokens.stop());
    const identify = createIdentify({
      verify,
      stops: shared.stops,
      onRefused: refusedTokens.onRefused,
    });
    const validator = createValidator();
    const handlers = createHandlers({
      bundle: () => policyFile.current,
      texts: () => policyFile.texts,
      validator,
      identify,
      verify,
      sign: await createRunTokenSigner(key.privateJwk),
      leases,
      stops: shared.stops,
      budgets: createBudgetStore(kit.redis),
      metrics,
      now,
    });
    const service = serve(bus, {
      name: "policy",
      version,
      description: "Decides about tool calls and mints run tokens",
      onFault: ({ error, contract, correlationId }) =>
        log.error({ err: error, contract, correlationId }, "handler fault"),
    });
    const approvals = startApprovals({
      bus,
      redis: kit.redis,
      log,
      service,
      identify,
      policyDigest: () => policyFile.current.digest,
      settings: { approvers: config.YARD_APPROVERS, own: config.YARD_APPROVE_OWN },
      waitMs: config.YARD_APPROVAL_WAIT_MS,
      promptsPerRun: config.YARD_APPROVAL_PROMPTS,
      now,
    });
    kit.onStop("approvals", () => approvals.stop());
    service.handle(checkPolicy, handlers.check);
    service.handle(filterPolicy, handlers.filter);
    service.handle(grantRun, handlers.grant);
    service.handle(explainPolicy, handlers.explain);
    service.handle(validatePolicy, handlers.validate);
    service.handle(releaseCall, handlers.release);
    service.handle(whoCanCall, handlers.whoCan);
    shared.serve(service, { policyFile, validator, admins: config.YARD_POLICY_ADMINS });
    // Who is told that the service is ready may ask at once.
    await bus.flush();
  },
});
