import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/runs";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { post, type OurGateway } from "./our-gateway.ts";

const IN_FLIGHT = 16;

/** A run is started when its command is stored: over HTTP, beside publishing it. The runner stands still, or it would be measured. */
export async function startFigure({ rounds }: Bench, ours: OurGateway): Promise<Figure> {
  let count = 0;
  const next = (): string => `start-${process.pid}-${(count += 1)}`;
  const runner = ours.instance.processes.find(({ name }) => name.startsWith("runner"));
  if (runner === undefined) throw new Error("there is no runner to hold");
  process.kill(runner.pid, "SIGSTOP");
  const loads = await measureInTurn(
    {
      http: () => post(ours, "/runs", { agent: "answers", input: "go", runId: next() }),
      nats: () =>
        publishCommand(ours.bus, startRun, { agent: "answers" }, { input: "go", runId: next() }),
    },
    { inFlight: IN_FLIGHT, windowMs: 300, rounds, sliceMs: 100 },
  ).finally(() => process.kill(runner.pid, "SIGCONT"));
  return compared(
    {
      name: `starts of runs, ${IN_FLIGHT} in flight`,
      value: loads.http.perSecond,
      unit: "/s",
      baseline: loads.nats.perSecond,
    },
    { text: "≥ 0.8×", holds: (ratio) => ratio >= 0.8 },
  );
}
