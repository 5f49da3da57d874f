import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { bundleActivated, bundleRefused } from "@switchyard/contracts/policy/policy-bundles";
import { prepareInjections } from "@switchyard/service/inspect/injection-phrases";
import type { Log } from "@switchyard/service/log";
import { bundleName, type PolicyFileOptions } from "./policy-file.ts";
import type { PolicyMetrics } from "../policy-metrics.ts";

const MAX_LOGGED_FINDINGS = 20;

type News = Pick<PolicyFileOptions, "onActivated" | "onRefused" | "onWatchLost">;

/**
 * Announces changes of the policy file to people and other services: a log line, a metric, an event. The policy in force does not
 * wait for the event, and does not depend on it.
 */
export function announceBundles(parts: {
  readonly bus: Bus;
  readonly log: Log;
  readonly metrics: PolicyMetrics;
  readonly path: string;
  readonly now: () => number;
}): News {
  const { bus, log, metrics, path, now } = parts;
  const bundle = bundleName(path);
  const at = () => new Date(now()).toISOString();
  const published = (publication: Promise<unknown>) => {
    publication.catch((err: unknown) => log.warn({ err, bundle }, "policy event not published"));
  };
  return {
    onActivated({ bundle: { digest, ruleCount, finds }, testCount, findings }) {
      // Without it, the first call that is inspected for injections would delay all others.
      if (finds.includes("injection")) void prepareInjections();
      metrics.activated({ digest, ruleCount }, now());
      const facts = { bundle, policyDigest: digest, rules: ruleCount, tests: testCount };
      log.info(facts, "policy in force");
      if (findings.length > 0) {
        const shown = findings.slice(0, MAX_LOGGED_FINDINGS).map(({ message }) => message);
        log.warn({ bundle, count: findings.length, findings: shown }, "policy has doubtful rules");
      }
      const fact = { bundle, policyDigest: digest, rules: ruleCount, at: at() };
      published(publishEvent(bus, bundleActivated, { bundle }, fact));
    },
    onRefused(errors, { digest }) {
      metrics.refused();
      log.warn({ bundle, policyDigest: digest, errors }, "policy file refused, the old one stays");
      const fact = { bundle, policyDigest: digest, errors: errors.slice(0, 50), at: at() };
      published(publishEvent(bus, bundleRefused, { bundle }, fact));
    },
    onWatchLost(err) {
      log.warn({ err, bundle }, "policy file is polled only, changes are seen later");
    },
  };
}
