import type { Bus } from "@switchyard/bus/bus";
import { publishLive } from "@switchyard/bus/publish";
import { runTokens } from "@switchyard/contracts/ids";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { LiveText } from "./live-text.ts";

/** Receives the text that a model writes in the steps of a run. */
export interface StepListener {
  readonly onDelta: (step: number, text: string) => void;
  /** The text of this step so far is void: the call is made again. */
  readonly onReset: (step: number) => void;
  /** The answer of this step is whole. */
  readonly onAnswered: (step: number) => void;
}

/** Publishes a model's text live, without anything that looks like a secret. */
export function liveSteps(
  bus: Bus,
  { runId, requester }: { readonly runId: string; readonly requester: string },
): StepListener {
  const to = runTokens(runId, requester);
  const live = new LiveText((step, delta) => publishLive(bus, runLive, to, { runId, step, delta }));
  return {
    onDelta: (step, delta) => live.add(step, delta),
    onReset: (step) => {
      live.reset(step);
      publishLive(bus, runLive, to, { runId, step, delta: "", kind: "reset-step" });
    },
    onAnswered: (step) => live.end(step),
  };
}
