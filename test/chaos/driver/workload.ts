import { setTimeout as delay } from "node:timers/promises";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { approveCall, denyCall, listApprovals } from "@switchyard/contracts/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import { cancelRun, startRun } from "@switchyard/contracts/runs";
import { seededRandom } from "./seeded-random.ts";

export interface PlannedRun {
  readonly runId: string;
  readonly agent: string;
  readonly atMs: number;
  /** When somebody asks to cancel it; null: nobody does. */
  readonly cancelAtMs: number | null;
}

/** The more often it stands here, the more runs it gets. */
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
];
const CANCELLED_SHARE = 0.08;

/** Draws which runs start when. */
export function drawRuns(options: {
  seed: number;
  runs: number;
  durationMs: number;
}): PlannedRun[] {
  const { seed, runs, durationMs } = options;
  const random = seededRandom(seed ^ 0x5eed);
  return Array.from({ length: runs }, (_, index) => {
    const atMs = random.between(0, durationMs);
    const isCancelled = random.next() < CANCELLED_SHARE;
    return {
      runId: `chaos-${seed}-${index}`,
      agent: random.pick(AGENTS),
      atMs,
      cancelAtMs: isCancelled ? atMs + random.between(0, 4_000) : null,
    };
  });
}

/** Starts the runs at their times, each until the queue has acknowledged it. */
export async function startRuns(bus: Bus, runs: readonly PlannedRun[]): Promise<void> {
  const startedAt = performance.now();
  const until = (atMs: number): Promise<void> =>
    delay(Math.max(0, startedAt + atMs - performance.now()));
  await Promise.all(
    runs.map(async ({ runId, agent, atMs, cancelAtMs }) => {
      await until(atMs);
      const options = { messageId: runId };
      await untilStored(() =>
        publishCommand(bus, startRun, { agent }, { runId, input: { run: runId } }, options),
      );
      if (cancelAtMs === null) return;
      await until(cancelAtMs);
      await untilStored(() => publishCommand(bus, cancelRun, { runId }, { reason: "chaos" }));
    }),
  );
}

const RETRY_MS = 200;

/** Repeating a command changes nothing, so whatever goes wrong is a reason to send it again. */
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
 * Decides about what waits for a person, until the signal aborts: three of four calls are approved,
 * and each answer is given twice at once, as two people would who do not know of each other.
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

/** The policy service is down now and then; the next look asks again. */
async function orNothing<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
