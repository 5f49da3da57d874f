import type { Bench } from "./lib/bench.ts";
import { printReport, type Report } from "./lib/figure.ts";
import { watchProcessors } from "./lib/processor-shares.ts";
import { Stage } from "./lib/stage.ts";

// Measures one part of Switchyard beside a baseline of the same run.
//
//   npm run bench -- bus|events|broker|listing|broker-failover|broker-connections|gateways|policy|audit|skills|discovery|render|runs|neighbour|scaling|capacity|recovery|parked|long-run|cache|one-process|hostile-imports|restate|agents|cli|channels|gateway|console [--quick]

const benchmarks: Record<string, () => Promise<(bench: Bench) => Promise<Report>>> = {
  bus: async () => (await import("./bus/bus-bench.ts")).benchBus,
  events: async () => (await import("./bus/events-bench.ts")).benchEvents,
  broker: async () => (await import("./broker/broker-bench.ts")).benchBroker,
  listing: async () => (await import("./broker/listing-bench.ts")).benchListing,
  gateways: async () => (await import("./gateways/gateways-bench.ts")).benchGateways,
  "broker-failover": async () => (await import("./broker/failover-bench.ts")).benchFailover,
  "broker-connections": async () =>
    (await import("./broker/connections-bench.ts")).benchConnections,
  policy: async () => (await import("./policy/policy-bench.ts")).benchPolicy,
  audit: async () => (await import("./audit/audit-bench.ts")).benchAudit,
  skills: async () => (await import("./skills/skills-bench.ts")).benchSkills,
  discovery: async () => (await import("./skills/discovery-bench.ts")).benchDiscovery,
  render: async () => (await import("./skills/render-bench.ts")).benchRender,
  runs: async () => (await import("./runs/runs-bench.ts")).benchRuns,
  neighbour: async () => (await import("./runs/neighbour-bench.ts")).benchNeighbour,
  scaling: async () => (await import("./runs/scaling-bench.ts")).benchScaling,
  capacity: async () => (await import("./runs/capacity-bench.ts")).benchCapacity,
  recovery: async () => (await import("./runs/recovery-bench.ts")).benchRecovery,
  parked: async () => (await import("./runs/parked-bench.ts")).benchParked,
  restate: async () => (await import("./restate/restate-bench.ts")).benchRestate,
  agents: async () => (await import("./agents/agents-bench.ts")).benchAgents,
  gateway: async () => (await import("./gateway/gateway-bench.ts")).benchGateway,
  channels: async () => (await import("./channels/channels-bench.ts")).benchChannels,
  cli: async () => (await import("./cli/cli-bench.ts")).benchCli,
  console: async () => (await import("./console/console-bench.ts")).benchConsole,
  "one-process": async () => (await import("./one-process/one-process-bench.ts")).benchOneProcess,
  "hostile-imports": async () =>
    (await import("./one-process/hostile-imports.ts")).benchHostileImports,
  cache: async () => (await import("./cache/cache-bench.ts")).benchCache,
  "long-run": async () => (await import("./runs/long-run-bench.ts")).benchLongRun,
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
  const length = quick
    ? { warmUpMs: 500, windowMs: 500, rounds: 1 }
    : { warmUpMs: 20_000, windowMs: 3_000, rounds: 5 };
  const sharesSince = await watchProcessors();
  const report = await bench({ stage, ...length });
  const shares = await sharesSince();
  if (shares !== null)
    console.log(`the host took ${percent(shares.stolen)} of the processors' time`);
  printReport(report);
} finally {
  await stage.end();
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
