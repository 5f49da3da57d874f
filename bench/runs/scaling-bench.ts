import { compared, type Figure, type Report } from "../lib/figure.ts";
import { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { followRuns } from "./run-follower.ts";

/** Few, so that eight replicas wait for the model and not for the machine's processors. */
const SLOTS = 4;

/** Throughput of 1, 2, 4 and 8 runners whose model takes 200 ms, against that many times the first. */
export async function benchScaling({ windowMs }: Bench): Promise<Report> {
  const figures: Figure[] = [];
  let single = Number.NaN;
  for (const runners of [1, 2, 4, 8]) {
    const stage = new Stage();
    try {
      const env = { YARD_RUNNER_SLOTS: String(SLOTS) };
      const { bus } = await startSwitchyard(stage, { runners, env });
      const { run, stop } = followRuns(bus);
      stage.onEnd(stop);
      // Keeps a command queued for each slot, so that no runner is idle.
      const perSecond = await endsPerSecond(() => run("thinks"), {
        inFlight: SLOTS * runners * 2,
        durationMs: windowMs * 8,
      });
      if (runners === 1) single = perSecond;
      figures.push(
        compared(
          {
            name: `runs of five answers of 200 ms, ${runners} runners`,
            value: perSecond,
            unit: "runs/s",
            baseline: single * runners,
          },
          { text: "≥ 0.95×", holds: (ratio) => ratio >= 0.95 },
        ),
      );
    } finally {
      await stage.end();
    }
  }
  return { name: "scaling", figures };
}

/** Until as many runs are under way at any point of their lives as at any other. */
const WARM_UP_MS = 5_000;

/** Counts the operations that end in a second. A run takes a good part of the window, so those that began before it count, too. */
async function endsPerSecond(
  operation: () => Promise<void>,
  { inFlight, durationMs }: { inFlight: number; durationMs: number },
): Promise<number> {
  const from = performance.now() + WARM_UP_MS;
  const until = from + durationMs;
  let ends = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < until) {
      await operation();
      const now = performance.now();
      if (now >= from && now < until) ends += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return ends / (durationMs / 1_000);
}
