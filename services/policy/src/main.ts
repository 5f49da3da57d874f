import { setTimeout as delay } from "node:timers/promises";
import { serve } from "@switchyard/bus/serve";
import {
  checkPolicy,
  explainPolicy,
  filterPolicy,
  grantRun,
  validatePolicy,
} from "@switchyard/contracts/policy";
import { runService } from "@switchyard/service/run-service";
import { createRunTokenSigner, createRunTokenVerifier } from "@switchyard/service/run-token";
import { announceBundles } from "./bundle/bundle-news.ts";
import { Config } from "./config.ts";
import { createHandlers } from "./handlers.ts";
import { bundleName, PolicyFile } from "./bundle/policy-file.ts";
import { createDecisionLeases, LONGEST_LEASE_MS } from "./engine/decision-leases.ts";
import { createPolicyMetrics } from "./policy-metrics.ts";
import { readRunTokenKey } from "./tokens/run-token-key.ts";
import { createValidator } from "./bundle/validator.ts";

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
    const policyFile = await PolicyFile.open({
      path,
      ...news,
      beforeChange: () => leases.withdraw(),
      afterChange: () => leases.resume(),
    });
    // Steps run in reverse: the file first. Whoever takes this one's place may have other rules.
    kit.onStop("kept decisions", () => leases.withdraw());
    kit.onStop("policy file", () => policyFile.stop());

    const handlers = createHandlers({
      bundle: () => policyFile.current,
      texts: () => policyFile.texts,
      validator: createValidator(),
      verify: await createRunTokenVerifier(key.publicJwk, { now }),
      sign: await createRunTokenSigner(key.privateJwk),
      leases,
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
    service.handle(checkPolicy, handlers.check);
    service.handle(filterPolicy, handlers.filter);
    service.handle(grantRun, handlers.grant);
    service.handle(explainPolicy, handlers.explain);
    service.handle(validatePolicy, handlers.validate);
  },
});
