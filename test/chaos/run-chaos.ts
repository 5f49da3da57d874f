import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/bus";
import { commandStream } from "@switchyard/topology/streams";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import type { Redis } from "@switchyard/service/redis";
import { checkDeliveries } from "./checker/check-deliveries.ts";
import { checkEvidence } from "./checker/check-evidence.ts";
import type { Absence, Evidence, Violation } from "./checker/evidence.ts";
import {
  readApprovals,
  readBook,
  readRuns,
  readSessions,
  readStreams,
} from "./checker/read-evidence.ts";
import { playSchedule } from "./driver/play-schedule.ts";
import type { Cast, Disaster } from "./driver/disasters.ts";
import type { Fault } from "./driver/fault.ts";
import {
  addJobs,
  drawJobs,
  drawMessages,
  readAnswers,
  readJobs,
  sayMessages,
  type OutsideOptions,
} from "./driver/messages-and-jobs.ts";
import { drawSchedule } from "./driver/schedule.ts";
import { decideApprovals, drawRuns, startRuns, type WorkloadOptions } from "./driver/workload.ts";
import type { World } from "./world/world.ts";

/** `durationMs` is the time in which faults happen. */
export interface ChaosOptions extends WorkloadOptions, OutsideOptions {
  readonly everyMs: number;
  readonly disasters: readonly Disaster[];
  readonly only: readonly string[];
}

export interface ChaosReport {
  readonly faults: readonly Fault[];
  readonly violations: readonly Violation[];
  /** The number of runs of each status, child runs included. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly executions: number;
  /** From the last fault's end until every run had ended. */
  readonly settledMs: number;
}

/** Plays one round on a world, stops it, and reports the broken promises. */
export async function runChaos(world: World, options: ChaosOptions): Promise<ChaosReport> {
  const { seed } = options;
  const runs = drawRuns(options);
  const messages = drawMessages(options);
  const faults = drawSchedule({ ...options, ...castOf(world) });
  const bus = await world.connect("cli");
  const jobIds = await addJobs(bus, drawJobs(options));
  const startedAt = Date.now();
  const settledMs = await whileDeciding({ bus, seed }, async () => {
    await Promise.all([
      startRuns(bus, runs),
      sayMessages(bus, messages),
      playSchedule(world, faults),
    ]);
    const wholeAt = performance.now();
    await untilSettled(
      world,
      runs.map(({ runId }) => runId),
      SETTLE_MS + SETTLE_MS_EACH * (runs.length + messages.length + jobIds.length),
    );
    await untilDelivered(async () => ({
      messages: await readAnswers(bus, messages),
      jobs: await readJobs(bus, jobIds),
    }));
    return performance.now() - wholeAt;
  });
  const delivered = {
    messages: await readAnswers(bus, messages),
    jobs: await readJobs(bus, jobIds),
  };
  const approvals = await readApprovals(bus);
  await bus.close();
  const evidence = await collectEvidence(world, {
    accepted: runs.map(({ runId }) => runId),
    approvals,
    ...delivered,
    absences: faults.flatMap((fault) => absencesOf(fault, startedAt)),
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

/** The parts of a round. */
export function castOf(world: World): Cast {
  const servers = [world.nats.name, world.redis.name];
  return {
    services: [...world.services.keys()],
    servers,
    disks: world.noDisks === null ? servers : [],
  };
}

/** A connection without traffic for long counts as a dead process. */
function absencesOf({ atMs, lastsMs, parts }: Fault, startedAt: number): Absence[] {
  const from = startedAt + atMs;
  return parts.map((part) => ({ part, from, to: from + lastsMs }));
}

/** Decides approvals while `act` runs. */
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

/**
 * Long enough for several failed pick-ups in a row (10 s each), and for the work that faults delayed; a run that has not ended then
 * is a violation.
 */
const SETTLE_MS = 120_000;
const SETTLE_MS_EACH = 250;
/** No pause is longer than 30 s: a run without progress for this long is stuck. */
const STUCK_MS = 45_000;
const POLL_MS = 250;
const OPEN_STATUSES: ReadonlySet<string> = new Set(["null", "running", "waiting"]);

/** Resolves when every run has ended and the queue is empty, when nothing moves any more, or when the time for it is over. */
async function untilSettled(
  world: World,
  accepted: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const redis = await world.connectRedis();
  try {
    const end = performance.now() + timeoutMs;
    let before = "";
    let movedAt = performance.now();
    for (;;) {
      const states = await statesOf(redis, accepted);
      const queued = await queuedCommands(world);
      const now = performance.now();
      const seen = `${queued} ${states.flat().join()}`;
      if (seen !== before) movedAt = now;
      before = seen;
      const hasEnded = states.every(([status]) => !OPEN_STATUSES.has(status));
      if (hasEnded && queued === 0) return;
      if (now > end || now - movedAt > STUCK_MS) return;
      await delay(POLL_MS);
    }
  } finally {
    redis.disconnect();
  }
}

/** Resolves when messages and jobs are as they should be, or when the time for it is over. */
async function untilDelivered(
  read: () => Promise<Pick<Evidence, "messages" | "jobs">>,
): Promise<void> {
  const end = performance.now() + STUCK_MS;
  while (performance.now() < end) {
    if (checkDeliveries(await read()).length === 0) return;
    await delay(POLL_MS);
  }
}

/** Status and journal length of each run. */
async function statesOf(redis: Redis, accepted: readonly string[]): Promise<[string, number][]> {
  const known = await redis.zrange("yard:runs", "0", "-1"); // child runs, too
  return Promise.all(
    [...new Set([...accepted, ...known])].map(async (runId): Promise<[string, number]> => {
      const status = await redis.hget(`yard:run:{${runId}}:state`, "status");
      return [String(status), await redis.llen(`yard:run:{${runId}}:journal`)];
    }),
  );
}

/** A run's last event is in the stream before its command leaves the queue. */
async function queuedCommands(world: World): Promise<number> {
  const response = await fetch(new URL("/jsz?streams=true", world.nats.monitorUrl));
  const { account_details: accounts = [] } = (await response.json()) as StreamReport;
  const streams = accounts.flatMap(({ stream_detail: details = [] }) => details);
  const queue = streams.find(({ name }) => name === commandStream.name);
  if (queue === undefined) throw new Error(`NATS has no stream ${commandStream.name}`);
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
  known: Pick<Evidence, "accepted" | "approvals" | "absences" | "messages" | "jobs">,
): Promise<Evidence> {
  await world.stopServices();
  const refusals = await world.refusals();
  await world.nats.reopen();
  const { events, sessionEvents, rejections, permits, queued } = await readStreams(world.nats.url);
  const redis = await world.connectRedis();
  const runs = await readRuns(redis, events);
  const sessions = await readSessions(redis, sessionEvents);
  redis.disconnect();
  await world.stopServers();
  const { effects, pids } = await readBook(world.book);
  const processes = [...world.services.values()].map((part) => part.process);
  return {
    ...known,
    runs,
    sessions,
    rejections,
    effects,
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
