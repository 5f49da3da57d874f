import { builtinNamed } from "@switchyard/contracts/toolbox/toolbox";
import { createCallMetrics, type CallMetrics } from "@switchyard/tool-provider/call-metrics";
import { Gauge, type Registry } from "prom-client";

/** The metrics of the toolbox. Labels are names of built-in tools and codes of the contract. */
export interface ToolboxMetrics extends CallMetrics {
  /** Sets the gauge for commands that run in a sandbox. */
  setSandboxed(isSandboxed: boolean): void;
}

export function createToolboxMetrics(registry: Registry): ToolboxMetrics {
  const { measureCall, countDecision } = createCallMetrics(registry, {
    names: {
      calls: "yard_toolbox_calls_total",
      seconds: "yard_toolbox_call_seconds",
      decisions: "yard_toolbox_decisions_total",
    },
    label: "tool",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600],
  });
  const sandboxed = new Gauge({
    name: "yard_toolbox_sandboxed",
    help: "1 when commands are kept in a sandbox, 0 when there is none.",
    registers: [registry],
  });
  return {
    measureCall: (name, call) => measureCall(builtinNamed(name) ?? "unknown", call),
    countDecision,
    setSandboxed: (isSandboxed) => sandboxed.set(isSandboxed ? 1 : 0),
  };
}
