import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/connect";
import { commandStream } from "@switchyard/contracts/streams";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import type { Redis } from "@switchyard/service/redis";
import { checkEvidence } from "./checker/check-evidence.ts";
import type { Evidence, Violation } from "./checker/evidence.ts";
import { readApprovals, readBook, readRuns, readStreams } from "./checker/read-evidence.ts";
import { playSchedule } from "./driver/play-schedule.ts";
import { drawSchedule, type Fault } from "./driver/schedule.ts";
import { decideApprovals, drawRuns, startRuns } from "./driver/workload.ts";
import type { World } from "./world/world.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly runs: number;
  /** How long things go wrong. */
  readonly durationMs: number;
  readonly everyMs: number;
}

export interface ChaosReport {
  readonly faults: readonly Fault[];
  readonly violations: readonly Violation[];
  /** How many runs have which status, child runs included. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly executions: number;
  /** From the last fault's end until every run had ended. */
  readonly settledMs: number;
}

/** Plays one round on a world, which is stopped by it, and says which promises were broken. */
export async function runChaos(world: World, options: ChaosOptions): Promise<ChaosReport> {
  const { seed, durationMs, everyMs } = options;
  const runs = drawRuns(options);
  const faults = drawSchedule({
    seed,
    durationMs,
    everyMs,
    services: [...world.services.keys()],
    servers: [world.nats.name, world.redis.name],
  });
  const bus = await world.connect("cli");
  const { settledMs, queued } = await whileDeciding({ bus, seed }, async () => {
    await Promise.all([startRuns(bus, runs), playSchedule(world, faults)]);
    const startedAt = performance.now();
    const left = await untilSettled(
      world,
      runs.map(({ runId }) => runId),
    );
    return { settledMs: performance.now() - startedAt, queued: left };
  });
  const approvals = await readApprovals(bus);
  await bus.close();
  const evidence = await collectEvidence(world, {
    accepted: runs.map(({ runId }) => runId),
    approvals,
    queued,
  });
  const statuses = Map.groupBy(evidence.runs, ({ status }) => status);
  return {
    faults,
    violations: checkEvidence(evidence),
    statuses: new Map([...statuses].map(([status, ofStatus]) => [status, ofStatus.length])),
    executions: evidence.effects.filter(({ phase }) => phase === "began").length,
    settledMs,
  };
}

/** Somebody decides about approvals while `act` is under way. */
async function whileDeciding<T>(
  { bus, seed }: { bus: Bus; seed: number },
  act: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const ending = async (): Promise<T> => {
    try {
      return await act();
    } finally {
      over.abort();
    }
  };
  const [result] = await Promise.all([ending(), decideApprovals(bus, seed, over.signal)]);
  return result;
}

/** Long enough for several failed pick-ups in a row (10 s each); what has not ended then is a violation. */
const SETTLE_MS = 120_000;
const POLL_MS = 250;
const OPEN_STATUSES: ReadonlySet<string | null> = new Set([null, "running", "waiting"]);

/**
 * Resolves when every run has ended and the queue is empty, or when the time for that is over, with the number of
 * commands that are left then.
 */
async function untilSettled(world: World, accepted: readonly string[]): Promise<number> {
  const redis = await world.connectRedis();
  try {
    const end = performance.now() + SETTLE_MS;
    for (;;) {
      const hasEnded = await allEnded(redis, accepted);
      const queued = await queuedCommands(world);
      if ((hasEnded && queued === 0) || performance.now() > end) return queued;
      await delay(POLL_MS);
    }
  } finally {
    redis.disconnect();
  }
}

async function allEnded(redis: Redis, accepted: readonly string[]): Promise<boolean> {
  const known = await redis.zrange("yard:runs", "0", "-1"); // child runs, too
  const statuses = await Promise.all(
    [...new Set([...accepted, ...known])].map((runId) =>
      redis.hget(`yard:run:{${runId}}:state`, "status"),
    ),
  );
  return statuses.every((status) => !OPEN_STATUSES.has(status));
}

/** A run's last event is in the stream before its command leaves the queue. */
async function queuedCommands(world: World): Promise<number> {
  const response = await fetch(new URL("/jsz?streams=true", world.nats.monitorUrl));
  const { account_details: accounts = [] } = (await response.json()) as StreamReport;
  const streams = accounts.flatMap(({ stream_detail: details = [] }) => details);
  const queue = streams.find(({ name }) => name === commandStream.name);
  if (queue === undefined) throw new Error(`NATS tells of no stream ${commandStream.name}`);
  return queue.state.messages;
}

/** https://docs.nats.io/running-a-nats-service/nats_admin/monitoring#jetstream-information */
interface StreamReport {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly state: { readonly messages: number };
    }[];
  }[];
}

/** Stops everything and reads what is left. */
async function collectEvidence(
  world: World,
  { accepted, approvals, queued }: Pick<Evidence, "accepted" | "approvals" | "queued">,
): Promise<Evidence> {
  await world.stopServices();
  const refusals = await world.refusals();
  await world.nats.reopen();
  const { events, permits } = await readStreams(world.nats.url);
  const redis = await world.connectRedis();
  const runs = await readRuns(redis, events);
  redis.disconnect();
  await world.stopServers();
  const { effects, pids } = await readBook(world.book);
  const processes = [...world.services.values()].map((part) => part.process);
  return {
    accepted,
    runs,
    effects,
    approvals,
    permits,
    queued,
    leftOver: await stillRunning([
      ...[...processes, world.nats, world.redis].flatMap((part) =>
        part.pids.map((pid) => ({ pid, name: part.name })),
      ),
      ...pids.map((pid) => ({ pid, name: "marking server" })),
    ]),
    crashes: processes.flatMap(({ crashes }) => crashes),
    refusals,
  };
}

const GONE_MS = 10_000;

/** An MCP server whose broker was killed ends by itself, a moment later. */
async function stillRunning(started: Evidence["leftOver"]): Promise<Evidence["leftOver"]> {
  const end = performance.now() + GONE_MS;
  for (;;) {
    const alive = await Promise.all(
      started.map(async (one) => ((await processIdentity(one.pid)) === null ? [] : [one])),
    );
    if (alive.flat().length === 0 || performance.now() > end) return alive.flat();
    await delay(POLL_MS);
  }
}
