import type { Bus } from "@switchyard/bus/connect";
import { publishLive } from "@switchyard/bus/publish";
import { runTokens } from "@switchyard/contracts/ids";
import { runLive } from "@switchyard/contracts/run-events";
import { LiveText } from "../events/live-text.ts";
import type { ModelAskerOptions } from "../model/model-step.ts";
import type { ActiveRun } from "../journal/active-run.ts";

type Given = Pick<
  ModelAskerOptions,
  "models" | "limiter" | "signal" | "waiting" | "random" | "onDiscarded"
> & {
  readonly bus: Bus;
  readonly run: ActiveRun;
  readonly modelIdleTimeoutMs: number;
};

/** How the models of a run are asked: what is said while one writes is told live, as the events tell it, too. */
export function askerOptions({
  bus,
  run,
  models,
  limiter,
  signal,
  waiting,
  random,
  modelIdleTimeoutMs: idleTimeoutMs,
  onDiscarded,
}: Given): ModelAskerOptions {
  const { runId, requester } = run.state.started;
  const to = runTokens(runId, requester);
  const live = new LiveText((step, delta) => publishLive(bus, runLive, to, { runId, step, delta }));
  return {
    models,
    limiter,
    signal,
    waiting,
    random,
    idleTimeoutMs,
    onDiscarded,
    onDelta: (step, delta) => live.add(step, delta),
    onReset: (step) => {
      live.reset(step);
      publishLive(bus, runLive, to, { runId, step, delta: "", kind: "reset-step" });
    },
    onAnswered: (step) => live.end(step),
  };
}
