import type { Bench } from "./lib/bench.ts";
import { printReport, type Report } from "./lib/figure.ts";
import { watchProcessors } from "./lib/processor-shares.ts";
import { Stage } from "./lib/stage.ts";

// Measures a part of Switchyard beside a baseline of the same run. Each benchmark has parts; without one, it is the first.
//
//   npm run bench -- NAME [PART] [--quick]

type Load = () => Promise<(bench: Bench) => Promise<Report>>;

const benchmarks: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  broker: {
    calls: async () => (await import("./broker/broker-bench.ts")).benchBroker,
    listing: async () => (await import("./broker/listing-bench.ts")).benchListing,
    failover: async () => (await import("./broker/failover-bench.ts")).benchFailover,
    connections: async () => (await import("./broker/connections-bench.ts")).benchConnections,
    bus: async () => (await import("./broker/bus-bench.ts")).benchBus,
    events: async () => (await import("./broker/events-bench.ts")).benchEvents,
    "stored-events": async () =>
      (await import("./broker/stored-events-bench.ts")).benchStoredEvents,
    "more-stored-events": async () =>
      (await import("./broker/stored-events-bench.ts")).benchMoreEvents,
  },
  runs: {
    steps: async () => (await import("./runs/runs-bench.ts")).benchRuns,
    "one-process": async () => (await import("./runs/one-process-bench.ts")).benchOneProcess,
    scaling: async () => (await import("./runs/scaling-bench.ts")).benchScaling,
    neighbour: async () => (await import("./runs/neighbour-bench.ts")).benchNeighbour,
    capacity: async () => (await import("./runs/capacity-bench.ts")).benchCapacity,
    recovery: async () => (await import("./runs/recovery-bench.ts")).benchRecovery,
    parked: async () => (await import("./runs/parked-bench.ts")).benchParked,
    long: async () => (await import("./runs/long-run-bench.ts")).benchLongRun,
    cache: async () => (await import("./runs/cache-bench.ts")).benchCache,
    archive: async () => (await import("./runs/archive-bench.ts")).benchArchive,
    "archive-hour": async () => (await import("./runs/archive-hour-bench.ts")).benchArchiveHour,
  },
  agents: {
    langgraph: async () => (await import("./agents/agents-bench.ts")).benchAgents,
    restate: async () => (await import("./agents/restate-bench.ts")).benchRestate,
  },
  gateway: {
    http: async () => (await import("./gateway/gateway-bench.ts")).benchGateway,
    gateways: async () => (await import("./gateway/gateways-bench.ts")).benchGateways,
  },
  policy: {
    decisions: async () => (await import("./policy/policy-bench.ts")).benchPolicy,
    audit: async () => (await import("./policy/audit-bench.ts")).benchAudit,
  },
  skills: {
    files: async () => (await import("./skills/skills-bench.ts")).benchSkills,
    discovery: async () => (await import("./skills/discovery-bench.ts")).benchDiscovery,
    render: async () => (await import("./skills/render-bench.ts")).benchRender,
    hostile: async () => (await import("./skills/hostile-imports.ts")).benchHostileImports,
  },
  console: {
    pages: async () => (await import("./console/console-bench.ts")).benchConsole,
    live: async () => (await import("./console/live-bench.ts")).benchLive,
  },
  cli: { commands: async () => (await import("./cli/cli-bench.ts")).benchCli },
  channels: { messages: async () => (await import("./channels/channels-bench.ts")).benchChannels },
};

const flags = process.argv.slice(2).filter((word) => word.startsWith("-"));
const [name = "", part, ...more] = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const parts = Object.hasOwn(benchmarks, name) ? benchmarks[name] : {};
const load = new Map(Object.entries(parts ?? {})).get(part ?? Object.keys(parts ?? {})[0] ?? "");
if (load === undefined || more.length > 0 || flags.some((flag) => flag !== "--quick")) {
  const known = Object.entries(benchmarks).map(
    ([one, of]) => `  ${one.padEnd(9)} ${Object.keys(of).join(" | ")}\n`,
  );
  process.stderr.write(`usage: npm run bench -- NAME [PART] [--quick]\n${known.join("")}`);
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
