import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/**
 * The metrics of one process, with those that every service has. Labels must come from a fixed
 * small set: never a run, an agent, a path or an error text.
 */
export interface Metrics {
  readonly registry: Registry;
  setReady(ready: boolean): void;
}

/** A registry of its own, so that two services in one test process do not share counters. */
export function createMetrics(build: { service: string; version: string }): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service: build.service });
  collectDefaultMetrics({ register: registry });
  const buildInfo = new Gauge({
    name: "yard_build_info",
    help: "Always 1; the labels say what runs.",
    labelNames: ["version", "node"],
    registers: [registry],
  });
  buildInfo.set({ version: build.version, node: process.versions.node }, 1);
  const ready = new Gauge({
    name: "yard_ready",
    help: "1 while the process takes work, 0 while it starts, stops or misses a dependency.",
    registers: [registry],
  });
  return { registry, setReady: (isReady) => ready.set(isReady ? 1 : 0) };
}
