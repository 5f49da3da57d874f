import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { post, type OurGateway } from "./our-gateway.ts";

const IN_FLIGHT = 16;
/** Short enough that no user has more commands waiting than it may: 10,000. */
const TURNS = { windowMs: 200, sliceMs: 100 };

/** A run is started when its command is stored: over HTTP, beside publishing it. The runner is paused, or it would be measured. */
export async function startFigures({ rounds }: Bench, ours: OurGateway): Promise<Figure[]> {
  let count = 0;
  const next = () => ({
    agent: "answers",
    input: "go",
    runId: `start-${process.pid}-${(count += 1)}`,
  });
  const operations = {
    http: () => post(ours, "/runs", next()),
    bare: () => post(ours.bare, "/runs", next()),
    nats: () => {
      const { agent, ...run } = next();
      return publishCommand(ours.bus, startRun, { agent }, run);
    },
  };
  const runner = ours.instance.processes.find(({ name }) => name.startsWith("runner"));
  if (runner === undefined) throw new Error("there is no runner to hold");
  process.kill(runner.pid, "SIGSTOP");
  try {
    await measureInTurn(operations, { inFlight: IN_FLIGHT, ...TURNS, rounds: 1 }); // until it is compiled
    const loads = await measureInTurn(operations, { inFlight: IN_FLIGHT, ...TURNS, rounds });
    const figure = {
      name: `starts of runs, ${IN_FLIGHT} in flight`,
      value: loads.http.perSecond,
      unit: "/s",
    };
    const goal = { text: "≥ 0.8×", holds: (ratio: number) => ratio >= 0.8 };
    return [
      compared({ ...figure, baseline: loads.nats.perSecond }, goal),
      compared({
        ...figure,
        name: `${figure.name}, against a bare HTTP server`,
        baseline: loads.bare.perSecond,
      }),
    ];
  } finally {
    process.kill(runner.pid, "SIGCONT");
  }
}
