import type { Decision } from "@switchyard/contracts/policy/policy";
import { durations } from "@switchyard/service/metrics";
import { Counter, Gauge, type Registry } from "prom-client";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";

export interface PolicyMetrics {
  decided(effect: Decision["effect"], seconds: number): void;
  activated(bundle: Pick<CompiledBundle, "digest" | "ruleCount">, nowMs: number): void;
  refused(): void;
}

const MICROSECOND = 1e-6;
const LATENCY_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 10_000].map(
  (microseconds) => microseconds * MICROSECOND,
);

export function createPolicyMetrics(registry: Registry, bundleName: string): PolicyMetrics {
  const registers = [registry];
  const decisions = new Counter({
    name: "yard_policy_decisions_total",
    help: "Decisions on calls, by effect.",
    labelNames: ["effect"],
    registers,
  });
  const latency = durations(registry, {
    name: "yard_policy_decision_seconds",
    help: "Time that one decision took, without the messaging around it.",
    buckets: LATENCY_BUCKETS,
  });
  const info = new Gauge({
    name: "yard_policy_bundle_info",
    help: "Always 1; the labels name the bundle in force.",
    labelNames: ["bundle", "digest"],
    registers,
  });
  const rules = new Gauge({
    name: "yard_policy_bundle_rules",
    help: "Rules of the bundle in force.",
    registers,
  });
  const activatedAt = new Gauge({
    name: "yard_policy_bundle_activated_timestamp_seconds",
    help: "When the bundle came into force; its age is time() minus this.",
    registers,
  });
  const isRefused = new Gauge({
    name: "yard_policy_file_refused",
    help: "1 while the policy file has errors and an older bundle is in force.",
    registers,
  });
  return {
    decided(effect, seconds) {
      decisions.inc({ effect });
      latency.observe({}, seconds);
    },
    activated(bundle, nowMs) {
      info.reset();
      info.set({ bundle: bundleName, digest: bundle.digest }, 1);
      rules.set(bundle.ruleCount);
      activatedAt.set(nowMs / 1000);
      isRefused.set(0);
    },
    refused: () => isRefused.set(1),
  };
}
