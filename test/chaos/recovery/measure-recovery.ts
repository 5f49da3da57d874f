import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { Redis } from "@switchyard/service/redis";
import { kindOf } from "../driver/disasters.ts";
import type { World } from "../world/world.ts";

/** Measured duration of a recovery, in milliseconds. */
export interface Recovery {
  readonly name: string;
  /** The slowest run, from when it could begin. */
  readonly tookMs: number;
  /** The same with nothing broken, on this machine at this time. */
  readonly usualMs: number;
  readonly isTooSlow: boolean;
}

/** The default settings' promise. */
const PROMISED_MS = 10_000;
const RUNS = 12;
const OUTAGE_MS = 40_000;
const TIMEOUT_MS = 120_000;
const POLL_MS = 50;
/** One that calls once, for 0.4 s; and one whose first call takes 3 s. */
const SHORT_AGENT = "talker";
const LONG_AGENT = "sleeper";

/** Measures the requested ways to recover, or `all`, on a world whose settings are the defaults, one after the other. */
export async function* measureRecovery(
  world: World,
  wanted: readonly string[],
): AsyncGenerator<Recovery> {
  const ways = waysOf(world);
  const known = ["all", ...ways.map(([name]) => name)];
  for (const name of wanted)
    if (!known.includes(name))
      throw new RangeError(`nothing recovers as ${name}; there are ${known.join(", ")}`);
  const bus = await world.connect("cli");
  const redis = await world.connectRedis();
  const measuring = { world, bus, redis };
  try {
    for (const [name, measure] of ways) {
      if (!wanted.includes("all") && !wanted.includes(name)) continue;
      const usualMs = await slowest(measuring, `${name}-usual`);
      const tookMs = await measure(measuring, name);
      const isTooSlow = tookMs > PROMISED_MS + 2 * usualMs;
      yield { name, tookMs, usualMs, isTooSlow };
    }
  } finally {
    redis.disconnect();
    await bus.close();
  }
}

interface Measuring {
  readonly world: World;
  readonly bus: Bus;
  readonly redis: Redis;
}

type Measure = (measuring: Measuring, name: string) => Promise<number>;

function waysOf({ services }: World): [string, Measure][] {
  const parts = [...services.keys()];
  const kinds = [...new Set(parts.map(kindOf))];
  return [
    ["call-broker-killed", callWhenBrokerDies],
    ...kinds.map((kind): [string, Measure] => [`freeze-${kind}`, newRunsWhenFrozen(kind)]),
    ...[...kinds, "nats", "redis"].map((kind): [string, Measure] => [
      `outage-${kind}`,
      afterOutage(kind),
    ]),
  ];
}

/** A run's call is under way when the broker that makes it is killed. */
const callWhenBrokerDies: Measure = async ({ world, bus, redis }, name) => {
  const runId = `cli~${name}`;
  await start(bus, runId, LONG_AGENT);
  const broker = await brokerOf(world, runId);
  const results = async () =>
    (await redis.lrange(`yard:run:{${runId}}:journal`, 0, -1)).filter((entry) =>
      /"kind":"tool-(?:completed|failed)"/.test(entry),
    ).length;
  broker.takeDown("SIGKILL");
  const killedAt = performance.now();
  await until(`a result of the call of ${runId}`, async () => (await results()) > 0);
  const tookMs = performance.now() - killedAt;
  broker.restore();
  await world.allReady();
  return tookMs;
};

/** The process whose child wrote that the run's call has begun. */
async function brokerOf(world: World, runId: string) {
  let pid = 0;
  await until(`the call of ${runId}`, async () => {
    const lines = (await readFile(world.book, "utf8")).split("\n");
    const line = lines.find((one) => one.includes(`"run":"${runId}"`));
    pid = line === undefined ? 0 : (JSON.parse(line) as { pid: number }).pid; // the fixture's own line
    return line !== undefined;
  });
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  const found = [...world.services.values()].find(({ process }) => process.pids.at(-1) === parent);
  if (found === undefined) throw new Error(`process ${parent} is not a service of the world`);
  return found.process;
}

/** New runs arrive while one process of that kind is stopped. */
function newRunsWhenFrozen(kind: string): Measure {
  return async (measuring, name) => {
    const { world } = measuring;
    const frozen = world.service(`${kind}-1`).process;
    frozen.freeze();
    try {
      return await slowest(measuring, name);
    } finally {
      frozen.thaw();
      await settled(measuring, name);
    }
  };
}

/** Runs wait while everything of that kind is away for long, and it comes back. */
function afterOutage(kind: string): Measure {
  return async (measuring, name) => {
    const { world, bus } = measuring;
    const parts = [...world.services.keys()].filter((part) => kindOf(part) === kind);
    const server = [world.nats, world.redis].find((one) => one.name === kind);
    const away = server === undefined ? parts.map((part) => world.service(part).process) : [server];
    const runIds = Array.from({ length: RUNS }, (_, index) => `cli~${name}-${index}`);
    if (kind === "nats") await Promise.all(runIds.map((runId) => start(bus, runId, LONG_AGENT)));
    for (const part of away) part.takeDown("SIGKILL");
    if (kind !== "nats") await Promise.all(runIds.map((runId) => start(bus, runId, SHORT_AGENT)));
    await delay(OUTAGE_MS);
    await Promise.all(away.map(async (part) => part.restore()));
    await world.allReady();
    const readyAt = performance.now();
    await settled(measuring, name);
    return performance.now() - readyAt;
  };
}

/** Starts some runs one after the other, and gives the time of the slowest. */
async function slowest(measuring: Measuring, name: string): Promise<number> {
  const times = await Promise.all(
    Array.from({ length: RUNS }, async (_, index) => {
      await delay(index * 250);
      const runId = `cli~${name}-${index}`;
      const startedAt = performance.now();
      await start(measuring.bus, runId, SHORT_AGENT);
      await ended(measuring, runId);
      return performance.now() - startedAt;
    }),
  );
  return Math.max(...times);
}

async function settled(measuring: Measuring, name: string): Promise<void> {
  await Promise.all(
    Array.from({ length: RUNS }, (_, index) => ended(measuring, `cli~${name}-${index}`)),
  );
}

async function start(bus: Bus, runId: string, agent: string): Promise<void> {
  await publishCommand(bus, startRun, { agent }, { runId, input: { run: runId } });
}

async function ended({ redis }: Measuring, runId: string): Promise<void> {
  await until(`the end of ${runId}`, async () => {
    const status = await redis.hget(`yard:run:{${runId}}:state`, "status");
    return status !== null && status !== "running" && status !== "waiting";
  });
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  // Redis itself may be away.
  while (!(await holds().catch(() => false))) {
    if (performance.now() > end) throw new Error(`${what} did not come within ${TIMEOUT_MS} ms`);
    await delay(POLL_MS);
  }
}
