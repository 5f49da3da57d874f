import { parseArgs } from "node:util";
import { describeFault } from "./driver/schedule.ts";
import { runChaos, type ChaosReport } from "./run-chaos.ts";
import { World } from "./world/world.ts";

// Plays rounds of chaos, each on a new world with the next seed, until the time is over or a promise
// was broken. The same seed draws the same runs and the same faults.
//
//   npm run chaos -- [--minutes 10] [--seed N] [--runs 150] [--seconds 45] [--every-ms 700]

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    runs: { type: "string", default: "150" },
    seconds: { type: "string", default: "45" },
    "every-ms": { type: "string", default: "700" },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const until = performance.now() + Number(values.minutes) * 60_000;
const settings = {
  runs: Number(values.runs),
  durationMs: Number(values.seconds) * 1_000,
  everyMs: Number(values["every-ms"]),
};
for (let seed = Number(values.seed); ; seed += 1) {
  say(`seed ${seed}`);
  const world = await World.start();
  const report = await runChaos(world, { ...settings, seed });
  say(describe(report));
  if (report.violations.length > 0) {
    for (const fault of report.faults) say(`  ${describeFault(fault)}`);
    for (const { rule, where, detail } of report.violations) say(`✗ ${rule} ${where}: ${detail}`);
    say(`logs, data and the book of effects: ${world.directory}`);
    say(
      `again: npm run chaos -- --minutes 0 --seed ${seed} --runs ${values.runs} --seconds ${values.seconds} --every-ms ${values["every-ms"]}`,
    );
    process.exitCode = 1;
    break;
  }
  await world.remove();
  if (performance.now() >= until) break;
}

function describe({ faults, statuses, executions, settledMs, violations }: ChaosReport): string {
  const runs = [...statuses].map(([status, count]) => `${count} ${status}`).join(", ");
  return `  ${faults.length} faults · runs: ${runs} · ${executions} executions · settled after ${(settledMs / 1_000).toFixed(1)} s · ${violations.length} violations`;
}
