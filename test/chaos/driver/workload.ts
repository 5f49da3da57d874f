import { setTimeout as delay } from "node:timers/promises";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import { approveCall, denyCall, listApprovals } from "@switchyard/contracts/policy/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import { cancelRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { seededRandom } from "./seeded-random.ts";

export interface PlannedRun {
  readonly runId: string;
  readonly agent: string;
  readonly atMs: number;
  /** Time of a cancel request; null: none. */
  readonly cancelAtMs: number | null;
  /** Key of its conversation; null: none. */
  readonly session: string | null;
  /** Its time limit; null: no limit. */
  readonly timeoutMs: number | null;
}

/** Entries that are repeated get more runs. */
const AGENTS = [
  "walker",
  "walker",
  "walker",
  "stubborn",
  "stubborn",
  "asker",
  "asker",
  "trespasser",
  "waiter",
  "parent",
  "late",
];
const TALKERS = ["talker", "talker", "talker", "talker", "asker", "waiter", "parent"];
const CANCELLED_SHARE = 0.08;
const MESSAGES = { least: 3, most: 6 };
/** Less than one call of `late` takes. */
const LATE_LIMIT_MS = 3_000;

export interface WorkloadOptions {
  readonly seed: number;
  readonly runs: number;
  /** Conversations beside them, of some messages each. */
  readonly sessions: number;
  readonly durationMs: number;
}

/** The user that starts the runs. */
const STARTER = "cli";

/** Draws the runs and their times. Those of a session are in the order of their messages. */
export function drawRuns({ seed, runs, sessions, durationMs }: WorkloadOptions): PlannedRun[] {
  const random = seededRandom(seed ^ 0x5eed);
  const draw = (runId: string, agent: string, atMs: number, session: string | null): PlannedRun => {
    const isCancelled = random.next() < CANCELLED_SHARE;
    const cancelAtMs = isCancelled ? atMs + random.between(0, 4_000) : null;
    const timeoutMs = agent === "late" ? LATE_LIMIT_MS : null;
    return { runId, agent, atMs, cancelAtMs, session, timeoutMs };
  };
  const alone = Array.from({ length: runs }, (_, index) =>
    draw(
      `${STARTER}~chaos-${seed}-${index}`,
      random.pick(AGENTS),
      random.between(0, durationMs),
      null,
    ),
  );
  const said = Array.from({ length: sessions }, (_, index) => {
    let atMs = random.between(0, durationMs * 0.7);
    // Half of the messages are sent at once, so that some wait for their turn.
    const longestGapMs = random.pick([300, 4_000]);
    return Array.from({ length: random.between(MESSAGES.least, MESSAGES.most) }, (__, place) => {
      atMs += random.between(0, longestGapMs);
      const runId = `${STARTER}~chaos-${seed}-s${index}-${place}`;
      return draw(runId, random.pick(TALKERS), atMs, `talk-${seed}-${index}`);
    });
  });
  return [...alone, ...said.flat()];
}

/** Starts the runs at their times, each until the queue has acknowledged it; of a session one after the other. */
export async function startRuns(bus: Bus, runs: readonly PlannedRun[]): Promise<void> {
  const startedAt = performance.now();
  const until = (atMs: number): Promise<void> =>
    delay(Math.max(0, startedAt + atMs - performance.now()));
  const start = async ({ runId, agent, atMs, session, timeoutMs }: PlannedRun): Promise<void> => {
    await until(atMs);
    const payload = {
      runId,
      input: { run: runId },
      ...(session === null ? {} : { session }),
      ...(timeoutMs === null ? {} : { limits: { timeoutMs } }),
    };
    await untilStored(() => publishCommand(bus, startRun, { agent }, payload));
  };
  const cancel = async ({ runId, cancelAtMs }: PlannedRun): Promise<void> => {
    if (cancelAtMs === null) return;
    await until(cancelAtMs);
    await untilStored(() => publishCommand(bus, cancelRun, { runId }, { reason: "chaos" }));
  };
  const groups = Map.groupBy(runs, ({ session, runId }) => session ?? runId).values();
  await Promise.all(
    [...groups].map(async (group) => {
      const cancelled: Promise<void>[] = [];
      for (const run of group) {
        await start(run);
        cancelled.push(cancel(run));
      }
      await Promise.all(cancelled);
    }),
  );
}

const RETRY_MS = 200;

/** Repeating a command changes nothing, so any failure is a reason to send it again. */
async function untilStored(publish: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await publish();
      return;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      await delay(RETRY_MS);
    }
  }
}

const LOOK_MS = 400;
const DENIED_SHARE = 0.25;

/**
 * Decides waiting calls until the signal aborts: three of four are approved, and each decision is sent twice at once, as by two
 * people without contact.
 */
export async function decideApprovals(bus: Bus, seed: number, signal: AbortSignal): Promise<void> {
  const policy = client(bus, { listApprovals, approveCall, denyCall });
  const random = seededRandom(seed ^ 0xdec1de);
  const decided = new Map<string, boolean>();
  const decide = async (id: string): Promise<void> => {
    const isDenied = decided.get(id) ?? random.next() < DENIED_SHARE;
    decided.set(id, isDenied);
    const once = () => (isDenied ? policy.denyCall({ id }) : policy.approveCall({ id }));
    await Promise.all([orNothing(once), orNothing(once)]);
  };
  while (!signal.aborted) {
    const page = await orNothing(() => policy.listApprovals({ limit: 500 }));
    await Promise.all((page?.approvals ?? []).map(({ id }) => decide(id)));
    await delay(LOOK_MS, undefined, { signal }).catch(() => {}); // the signal ends the loop
  }
}

/** The policy service is down now and then; the next poll retries. */
async function orNothing<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
