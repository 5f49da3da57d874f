import { compared, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { followRuns } from "../runs/run-follower.ts";
import { installedGateway } from "../gateway/installed-gateway.ts";
import { RESTATE_SDK, startRestate } from "./start-restate.ts";

/** Five answers of the scripted model and five calls of a tool of the runner itself. */
const STEPS = 10;

/**
 * Runs of ten journaled steps that touch nothing outside, beside Restate in the same minutes. Ours come
 * through the work queue and publish every event; Redis has `appendfsync always`, NATS `sync_interval: always`.
 * Restate's are invoked over its HTTP ingress and journal ten `ctx.run`.
 */
export async function benchRestate(bench: Bench): Promise<Report> {
  const { stage, warmUpMs, windowMs, rounds } = bench;
  const sdk = await installedGateway({
    name: "@restatedev/restate-sdk",
    version: RESTATE_SDK,
    program: "dist/index.js",
  });
  const restate = await startRestate(stage, {
    file: new URL("ten-steps-service.ts", import.meta.url),
    env: { RESTATE_SDK: sdk },
    handler: "bench/tenSteps",
  });
  const { bus } = await startSwitchyard(stage, { runners: 1 });
  const { run, stop } = followRuns(bus);
  stage.onEnd(stop);
  const operations = { ours: () => run("ten-steps"), restate };
  await Promise.all([operations.ours(), operations.restate()]);
  await warmUp(operations, warmUpMs);
  const sliceMs = windowMs; // a run under load takes as long as a turn of the other benchmarks
  const alone = await measureInTurn(operations, { inFlight: 1, windowMs, rounds, sliceMs });
  const full = await measureInTurn(operations, { inFlight: 64, windowMs, rounds, sliceMs });
  return {
    name: "restate",
    figures: [
      compared(
        {
          name: "run of ten journaled steps, p50, 1 in flight",
          value: alone.ours.p50Us / 1_000,
          unit: "ms",
          baseline: alone.restate.p50Us / 1_000,
        },
        { text: "≤ 0.5×", holds: (ratio) => ratio <= 0.5 },
      ),
      compared(
        {
          name: "journaled steps, 64 in flight",
          value: full.ours.perSecond * STEPS,
          unit: "steps/s",
          baseline: full.restate.perSecond * STEPS,
        },
        { text: "≥ 3×", holds: (ratio) => ratio >= 3 },
      ),
    ],
  };
}
