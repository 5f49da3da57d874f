import { parseArgs } from "node:util";
import { possibleDisasters, type Disaster } from "./driver/disasters.ts";
import { describeFault } from "./driver/fault.ts";
import { seededRandom } from "./driver/seeded-random.ts";
import { castOf, runChaos, type ChaosReport } from "./run-chaos.ts";
import { measureRecovery } from "./recovery/measure-recovery.ts";
import { World, type WorldOptions } from "./world/world.ts";

// Plays rounds of chaos, each on a new world with the next seed, until the time is over or a promise
// was broken. The same seed draws the same runs and the same faults. With --recovery it measures instead. See README.md.

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    runs: { type: "string", default: "100" },
    sessions: { type: "string", default: "20" },
    messages: { type: "string", default: "60" },
    jobs: { type: "string", default: "30" },
    seconds: { type: "string", default: "60" },
    "every-ms": { type: "string", default: "900" },
    disasters: { type: "string", default: "2" },
    only: { type: "string", default: "" },
    recovery: { type: "string" },
    "go-on": { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const until = performance.now() + Number(values.minutes) * 60_000;
const settings = {
  runs: Number(values.runs),
  sessions: Number(values.sessions),
  messages: Number(values.messages),
  jobs: Number(values.jobs),
  durationMs: Number(values.seconds) * 1_000,
  everyMs: Number(values["every-ms"]),
  only: values.only === "" ? [] : values.only.split(","),
};
if (values.recovery !== undefined) await printRecovery(values.recovery.split(","));
else await playRounds();

/** Measures, instead of rounds, how fast the system recovers, each way separately. */
async function printRecovery(names: readonly string[]): Promise<void> {
  await withWorld({ slots: 16, duplicateWindowMs: 120_000 }, async (world) => {
    for await (const { name, tookMs, usualMs, isTooSlow } of measureRecovery(world, names)) {
      const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
      say(`${isTooSlow ? "✗" : " "} ${name}: ${seconds(tookMs)}, usually ${seconds(usualMs)}`);
      if (isTooSlow) process.exitCode = 1;
    }
    await world.end();
  });
}

async function playRounds(): Promise<void> {
  for (let seed = Number(values.seed); ; seed += 1) {
    const isClean = await playRound(seed);
    if (!isClean) process.exitCode = 1;
    if ((!isClean && !values["go-on"]) || performance.now() >= until) break;
  }
}

async function playRound(seed: number): Promise<boolean> {
  return withWorld({}, async (world) => {
    const disasters = disastersOf(seed, world);
    say(`seed ${seed}: ${disasters.join(", ") || "no disaster"}`);
    if (world.noDisks !== null) say(`  no full disks: ${world.noDisks}`);
    const report = await runChaos(world, { ...settings, seed, disasters });
    say(describe(report));
    if (report.violations.length === 0) {
      await world.remove();
      return true;
    }
    printReport(seed, report);
    await world.keep();
    say(`logs, data and the book of effects: ${world.directory}`);
    return false;
  });
}

/** Leaves nothing behind when it is interrupted or fails by itself. */
async function withWorld<T>(options: WorldOptions, act: (world: World) => Promise<T>): Promise<T> {
  const world = await World.start(options);
  const end = (): void => {
    process.exitCode = 130;
    void world.end().finally(() => process.exit());
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  try {
    return await act(world);
  } catch (error) {
    await world.end();
    throw error;
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
  }
}

/** A number of them is drawn from the seed; names are used unchanged. */
function disastersOf(seed: number, world: World): Disaster[] {
  const possible = possibleDisasters(castOf(world));
  const asked = values.disasters;
  if (/^\d+$/.test(asked)) {
    const random = seededRandom(seed ^ 0xd15a);
    return Array.from({ length: Number(asked) }, () => random.pick(possible));
  }
  return asked.split(",").map((name) => {
    const found = possible.find((one) => one === name);
    if (found !== undefined) return found;
    throw new RangeError(`there is no disaster ${name} here; there are ${possible.join(", ")}`);
  });
}

function describe({ faults, statuses, executions, settledMs, violations }: ChaosReport): string {
  const runs = [...statuses].map(([status, count]) => `${count} ${status}`).join(", ");
  return `  ${faults.length} faults · runs: ${runs} · ${executions} executions · settled after ${(settledMs / 1_000).toFixed(1)} s · ${violations.length} violations`;
}

function printReport(seed: number, { faults, violations }: ChaosReport): void {
  for (const fault of faults) say(`  ${describeFault(fault)}`);
  for (const { rule, where, detail } of violations) say(`✗ ${rule} ${where}: ${detail}`);
  const { runs, sessions, messages, jobs, seconds, disasters, only } = values;
  const hit = only === "" ? "" : ` --only ${only}`;
  say(
    `again: npm run chaos -- --minutes 0 --seed ${seed} --runs ${runs} --sessions ${sessions} --messages ${messages} --jobs ${jobs} --seconds ${seconds} --every-ms ${values["every-ms"]} --disasters ${disasters}${hit}`,
  );
}
