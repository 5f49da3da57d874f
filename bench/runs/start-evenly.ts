import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/bus";
import { followRuns } from "./run-follower.ts";

/** More runs under way mean that the instance is too slow: further ones are not started. */
const MOST_UNDER_WAY = 2_000;
const TICK_MS = 20;
/** The longest time after the last start in which runs may end. */
const REST_MS = 60_000;
const SHOWN_FAILURES = 10;

/** Runs that are started at a rate of their own, however long each of them takes. */
export interface Starts {
  counts(): {
    readonly ended: number;
    readonly failed: number;
    readonly underWay: number;
    readonly skipped: number;
  };
  /** The first failures. */
  readonly failures: readonly string[];
  /** Resolves when all runs have ended, or a minute after the last start. */
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

export function startEvenly(
  bus: Bus,
  { agent, perSecond, forMs }: { agent: string; perSecond: number; forMs: number },
): Starts {
  const follower = followRuns(bus);
  const failures: string[] = [];
  const underWay = new Set<Promise<void>>();
  let [ended, failed, skipped] = [0, 0, 0];
  const start = async (): Promise<void> => {
    try {
      await follower.run(agent);
      ended += 1;
    } catch (error) {
      failed += 1;
      if (failures.length < SHOWN_FAILURES) failures.push(String(error));
    }
  };
  const work = async (): Promise<void> => {
    const began = performance.now();
    let due = 0;
    for (let ms = 0; ms < forMs; ms = performance.now() - began) {
      for (; due < (ms / 1_000) * perSecond; due += 1) {
        if (underWay.size >= MOST_UNDER_WAY) {
          skipped += 1;
          continue;
        }
        const run = start();
        underWay.add(run);
        void run.finally(() => underWay.delete(run));
      }
      await delay(TICK_MS);
    }
    await Promise.race([Promise.all(underWay), delay(REST_MS, undefined, { ref: false })]);
  };
  return {
    counts: () => ({ ended, failed, underWay: underWay.size, skipped }),
    failures,
    ended: work(),
    stop: follower.stop,
  };
}
