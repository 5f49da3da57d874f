import type { Bench } from "./lib/bench.ts";
import { printReport, type Report } from "./lib/figure.ts";
import { Stage } from "./lib/stage.ts";

// Measures one part of Switchyard beside a baseline of the same run.
//
//   npm run bench -- bus|broker|policy|skills|runs [--quick]

const benchmarks: Record<string, () => Promise<(bench: Bench) => Promise<Report>>> = {
  bus: async () => (await import("./bus/bus-bench.ts")).benchBus,
  broker: async () => (await import("./broker/broker-bench.ts")).benchBroker,
  policy: async () => (await import("./policy/policy-bench.ts")).benchPolicy,
  skills: async () => (await import("./skills/skills-bench.ts")).benchSkills,
  runs: async () => (await import("./runs/runs-bench.ts")).benchRuns,
};

const [name = "", ...flags] = process.argv.slice(2);
const load = benchmarks[name];
const unknown = flags.filter((flag) => flag !== "--quick");
if (load === undefined || unknown.length > 0) {
  console.error(`usage: npm run bench -- ${Object.keys(benchmarks).join("|")} [--quick]`);
  process.exit(2);
}

const quick = flags.includes("--quick");
const stage = new Stage();
try {
  const bench = await load();
  printReport(await bench({ stage, windowMs: quick ? 500 : 3_000, rounds: quick ? 1 : 5 }));
} finally {
  await stage.end();
}
