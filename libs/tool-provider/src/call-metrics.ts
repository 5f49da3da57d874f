import { ServiceError } from "@switchyard/contracts/errors";
import { Counter, type Registry } from "prom-client";
import { durations } from "@switchyard/service/metrics";

/** The metrics that every tool provider keeps about its calls. */
export interface CallMetrics {
  /** Times a call and counts its end by outcome: ok, tool_error, replayed or an error code. */
  readonly measureCall: <R extends { isError: boolean; replayed: boolean }>(
    label: string,
    call: () => Promise<R>,
  ) => Promise<R>;
  /** A check of a call, and whether a kept decision answered it. */
  readonly countDecision: (isHit: boolean) => void;
}

/** `label` distinguishes calls; its values come from a small set. */
export function createCallMetrics(
  registry: Registry,
  options: {
    readonly names: {
      readonly calls: string;
      readonly seconds: string;
      readonly decisions: string;
    };
    readonly label: string;
    /** Upper ends of the times of calls, in seconds. */
    readonly buckets: readonly number[];
  },
): CallMetrics {
  const { names, label, buckets } = options;
  const registers = [registry];
  const calls = new Counter({
    name: names.calls,
    help: `Tool calls by ${label} and outcome: ok, tool_error, replayed or an error code.`,
    labelNames: [label, "outcome"],
    registers,
  });
  const seconds = durations(registry, {
    name: names.seconds,
    help: "Time from the request of a tool call to its reply.",
    labelNames: [label],
    buckets,
  });
  const decisions = new Counter({
    name: names.decisions,
    help: "Decisions about tool calls by where they came from: policy or cache.",
    labelNames: ["from"],
    registers,
  });
  return {
    async measureCall(value, call) {
      const startedAt = performance.now();
      let outcome = "internal";
      try {
        const reply = await call();
        outcome = reply.replayed ? "replayed" : reply.isError ? "tool_error" : "ok";
        return reply;
      } catch (error) {
        if (error instanceof ServiceError) outcome = error.code;
        throw error;
      } finally {
        seconds.observe({ [label]: value }, (performance.now() - startedAt) / 1_000);
        calls.labels(value, outcome).inc();
      }
    },
    countDecision: (isHit) => decisions.inc({ from: isHit ? "cache" : "policy" }),
  };
}
