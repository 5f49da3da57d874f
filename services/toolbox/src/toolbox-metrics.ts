import { ServiceError } from "@switchyard/contracts/errors";
import { builtinNamed } from "@switchyard/contracts/toolbox";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What the toolbox counts. Labels are names of built-in tools and codes of the contract. */
export interface ToolboxMetrics {
  /** Times a call and counts its end by outcome. */
  measureCall<R extends { isError: boolean; replayed: boolean }>(
    tool: string,
    call: () => Promise<R>,
  ): Promise<R>;
  /** A check of a call, and whether a kept decision answered it. */
  countDecision(isHit: boolean): void;
  /** Whether commands run in a sandbox. */
  setSandboxed(isSandboxed: boolean): void;
}

export function createToolboxMetrics(registry: Registry): ToolboxMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: "yard_toolbox_calls_total",
    help: "Calls of built-in tools by tool and outcome: ok, tool_error, replayed or an error code.",
    labelNames: ["tool", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "yard_toolbox_call_seconds",
    help: "Time from the request of a call to its reply.",
    labelNames: ["tool"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600],
    registers,
  });
  const decisions = new Counter({
    name: "yard_toolbox_decisions_total",
    help: "Decisions about calls by where they came from: policy or cache.",
    labelNames: ["from"],
    registers,
  });
  const sandboxed = new Gauge({
    name: "yard_toolbox_sandboxed",
    help: "1 when commands are kept in a sandbox, 0 when there is none.",
    registers,
  });
  return {
    async measureCall(name, call) {
      const tool = builtinNamed(name) ?? "unknown";
      const stop = seconds.startTimer({ tool });
      let outcome = "internal";
      try {
        const reply = await call();
        outcome = reply.replayed ? "replayed" : reply.isError ? "tool_error" : "ok";
        return reply;
      } catch (error) {
        if (error instanceof ServiceError) outcome = error.code;
        throw error;
      } finally {
        stop();
        calls.inc({ tool, outcome });
      }
    },
    countDecision: (isHit) => decisions.inc({ from: isHit ? "cache" : "policy" }),
    setSandboxed: (isSandboxed) => sandboxed.set(isSandboxed ? 1 : 0),
  };
}
