import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { readBook, readRuns } from "./checker/read-evidence.ts";
import { describeFault } from "./driver/fault.ts";
import { runChaos } from "./run-chaos.ts";
import { World } from "./world/world.ts";

/** The short form of `npm run chaos`: always the same seed, so that a failure is reproducible. */
const SHORT = {
  seed: 7,
  runs: 40,
  sessions: 10,
  messages: 30,
  jobs: 20,
  durationMs: 40_000,
  everyMs: 1_200,
  disasters: ["outage-policy", "blackout", "disk-nats"],
  only: [],
} as const;
const RUNNERS = ["runner-1", "runner-2", "runner-3"];

const world = await World.start();
const bus = await world.connect("cli");
const redis = await world.connectRedis();
after(async () => {
  redis.disconnect();
  await bus.close();
  await world.stopServices();
  await world.stopServers();
  await world.remove();
});

test("a runner that wakes after its run was taken over writes nothing and calls nothing [run-goal-2]", async () => {
  const runId = "cli~zombie";
  const started = Promise.race(RUNNERS.map((name) => loggedBy(name, "run started", runId)));
  await publishCommand(bus, startRun, { agent: "sleeper" }, { runId, input: { run: runId } });
  const zombie = await started;
  await until(async () => (await kindsOf(runId)).includes("tool-dispatched"));
  const others = RUNNERS.filter((name) => name !== zombie);
  const resumed = Promise.race(others.map((name) => loggedBy(name, "run resumed", runId)));
  // Behind the last entry of the journal the run's events are sent, and that is noted, too.
  const ended = Promise.race(others.map((name) => loggedBy(name, "run ended", runId)));
  world.service(zombie).process.freeze();

  await resumed;
  await ended;
  assert.equal((await kindsOf(runId)).at(-1), "finished");
  // On a busy machine the publishing continues for a moment.
  const before = await until(async () => {
    const first = await traceOf(runId);
    await delay(1_000);
    return isDeepStrictEqual(first, await traceOf(runId)) && first;
  });
  // It depends on which it finds first: that its time to renew is over, or that another runner has the run.
  const lost = Promise.race([
    loggedBy(zombie, "run lost to another runner", runId),
    loggedBy(zombie, "run left: its claim could not be renewed", runId),
  ]);
  world.service(zombie).process.thaw(); // the answer to its call has been waiting for it
  await lost;
  assert.deepEqual(await traceOf(runId), before);
  assert.deepEqual(
    before.effects.filter(({ phase }) => phase === "began").map(({ place }) => place),
    ["during", "afterwards"],
  );
});

test("no run is lost, no call repeated and none made unpermitted, whatever is killed, frozen or cut off [run-goal-2]", async (t) => {
  const disasters = SHORT.disasters.filter((one) => one !== "disk-nats" || world.noDisks === null);
  if (world.noDisks !== null) t.diagnostic(`no full disk here: ${world.noDisks}`);
  const report = await runChaos(world, { ...SHORT, disasters });
  t.diagnostic(`seed ${SHORT.seed}, ${report.faults.length} faults`);
  const story = report.faults.map(describeFault).join("\n");
  assert.deepEqual(report.violations, [], `seed ${SHORT.seed}:\n${story}`);
  const runs = [...report.statuses.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(runs > SHORT.runs, `${runs} runs were checked, child runs and the zombie among them`);
  assert.ok(report.executions > SHORT.runs, `${report.executions} executions were counted`);
});

async function loggedBy(name: string, message: string, runId: string): Promise<string> {
  await world.service(name).process.logged(message, { runId });
  return name;
}

/** Everything that a runner could have changed of a run. */
async function traceOf(runId: string) {
  const run = (await readRuns(redis, new Map())).find((one) => one.runId === runId);
  const { effects } = await readBook(world.book);
  return {
    journal: run?.journal,
    state: await redis.hgetall(`yard:run:{${runId}}:state`),
    toolEpoch: await redis.get(`yard:run:{${runId}}:tool-epoch`),
    effects: effects.filter((effect) => effect.run === runId),
  };
}

async function kindsOf(runId: string): Promise<string[]> {
  const entries = await redis.lrange(`yard:run:{${runId}}:journal`, 0, -1);
  return entries.map((text) => (JSON.parse(text) as { kind: string }).kind); // every entry has one
}
