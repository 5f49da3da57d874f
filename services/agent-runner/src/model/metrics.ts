import { durations, type Durations } from "@switchyard/service/metrics";
import { Counter, Gauge, type Registry } from "prom-client";

/** The metrics of the runner. Labels are from small fixed sets: no run, agent or tool names. */
export interface RunnerMetrics {
  readonly runs: Counter<"outcome">;
  readonly rejected: Counter<"code">;
  readonly slotsBusy: Gauge;
  readonly steps: Counter;
  readonly tokens: Counter<"direction">;
  readonly cachedTokens: Counter<"use">;
  readonly costUsd: Counter;
  readonly retries: Counter;
  readonly lagSeconds: Durations;
  readonly early: Counter;
  readonly toolCalls: Counter<"outcome">;
  readonly modelSeconds: Durations<"provider">;
}

const OUTCOMES = [
  "succeeded",
  "failed",
  "cancelled",
  "dead",
  "parked",
  "handed-over",
  "cut-off",
  "suspended",
  "lost",
  "corrupt",
  "faulted",
] as const;

export function createRunnerMetrics(registry: Registry, slots: number): RunnerMetrics {
  const registers = [registry];
  new Gauge({
    name: "yard_runner_slots",
    help: "Runs that this process can have in work at a time.",
    registers,
  }).set(slots);
  const runs = new Counter({
    name: "yard_runs_total",
    help: `Runs that left this runner: ${OUTCOMES.join(", ")}.`,
    labelNames: ["outcome"],
    registers,
  });
  // A counter that begins with its first event is at 1 when Prometheus sees it first, which is no increase.
  for (const outcome of OUTCOMES) runs.inc({ outcome }, 0);
  return {
    runs,
    rejected: new Counter({
      name: "yard_run_commands_rejected_total",
      help: "Run commands that could not become a run, by code.",
      labelNames: ["code"],
      registers,
    }),
    slotsBusy: new Gauge({
      name: "yard_runner_slots_busy",
      help: "Slots of this process that a run or another command is in.",
      registers,
    }),
    steps: new Counter({
      name: "yard_run_steps_total",
      help: "Model calls that ended.",
      registers,
    }),
    tokens: new Counter({
      name: "yard_model_tokens_total",
      help: "Tokens of model calls that ended, by direction: input or output.",
      labelNames: ["direction"],
      registers,
    }),
    cachedTokens: new Counter({
      name: "yard_model_cached_tokens_total",
      help: "Input tokens that the provider read from its cache, or wrote to it.",
      labelNames: ["use"],
      registers,
    }),
    costUsd: new Counter({
      name: "yard_model_cost_usd_total",
      help: "What the model calls cost whose price is known, in US dollars.",
      registers,
    }),
    retries: new Counter({
      name: "yard_run_retries_total",
      help: "Ended runs that a run.retry opened again.",
      registers,
    }),
    lagSeconds: durations(registry, {
      name: "yard_run_command_lag_seconds",
      help: "Time that a command lay in the queue before a runner took it for the first time.",
      buckets: [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600],
    }),
    early: new Counter({
      name: "yard_run_commands_early_total",
      help: "Commands that this runner took before their turn, because their caller had less in work than others.",
      registers,
    }),
    toolCalls: new Counter({
      name: "yard_run_tool_calls_total",
      help: "Tool calls by outcome: completed, tool_error, denied or failed.",
      labelNames: ["outcome"],
      registers,
    }),
    modelSeconds: durations(registry, {
      name: "yard_model_call_duration_seconds",
      help: "Time until a model's whole answer was there, retries included.",
      labelNames: ["provider"],
      buckets: [0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160],
    }),
  };
}
