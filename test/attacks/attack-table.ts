import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestService } from "../lib/service-process.ts";

/** One row of the threat model: an attempt and the answer that it must get. `W` is the installation under attack. */
export interface AttackRow<W> {
  /** The attempt, such as `a body of very many keys`. */
  readonly attempt: string;
  /** The attacker: a stranger, a role, a team, a sender. */
  readonly caller: string;
  /** The face: a route, a subject, a channel. */
  readonly face: string;
  /** The required answer, such as `404 unknown_hook`; with several, one of them. */
  readonly expected: string | readonly string[];
  /** Makes the attempt, and resolves with the answer. */
  readonly run: (world: W) => Promise<string>;
  /** Limits of this attack that differ from the usual ones. */
  readonly limits?: Partial<AttackLimits>;
}

export interface AttackLimits {
  /** Processor time in one turn of a service's event loop. */
  readonly stallMs: number;
  /** Growth of a service's resident memory. */
  readonly growthMb: number;
}

/** DESIGN's goal for one request of any role at any face. */
const ATTACK_LIMITS: AttackLimits = { stallMs: 100, growthMb: 64 };

/** Environment of a service whose event loop and memory are watched. */
export const WATCHED = {
  NODE_OPTIONS: `--import=${new URL("stall-watch.ts", import.meta.url).href}`,
} as const;

export interface StallWatch {
  readonly service: string;
  /** Starts a measurement. */
  begin(): Promise<void>;
  /** The maxima since `begin()`. */
  read(): Promise<{ readonly stallMs: number; readonly growthMb: number }>;
}

/** Watches a service that was started with {@link WATCHED}. */
export function watchOf(service: string, { lines }: Pick<TestService, "lines">): StallWatch {
  const line = lines.find((one) => one.includes('"msg":"stall watch"')) ?? assert.fail(service);
  const { url } = JSON.parse(line) as { url: string }; // as stall-watch.ts writes it
  const ask = async (path: string) =>
    (await (await fetch(`${url}${path}`)).json()) as { stallMs: number; peakBytes: number };
  let begunAt = 0;
  return {
    service,
    async begin() {
      begunAt = (await ask("/begin")).peakBytes;
    },
    async read() {
      const { stallMs, peakBytes } = await ask("/");
      return { stallMs, growthMb: (peakBytes - begunAt) / 1_048_576 };
    },
  };
}

/** One test for each row: it checks the answer, and that no watched service blocked or grew. */
export function testAttacks<W>(
  rows: readonly AttackRow<W>[],
  { world, watches }: { readonly world: W; readonly watches: readonly StallWatch[] },
): void {
  for (const { attempt, caller, face, expected, run, limits } of rows) {
    const wanted = typeof expected === "string" ? [expected] : expected;
    test(`${caller} at ${face}: ${attempt} is answered ${wanted.join(" or ")}`, async () => {
      await underLimits(watches, limits, async () => {
        const answer = await run(world);
        assert.ok(wanted.includes(answer), `${answer}, not ${wanted.join(" or ")}`);
        return "";
      });
    });
  }
}

/**
 * Makes an attempt, which returns what to report of it, and fails when a service has blocked or grown beyond its limit. What exceeds a limit is
 * attempted once more: an attack exceeds it each time, and the compilation of code or a garbage collection on a slow machine does not.
 */
export async function underLimits(
  watches: readonly StallWatch[],
  limits: Partial<AttackLimits> | undefined,
  attempt: () => Promise<string>,
): Promise<void> {
  for (const isLast of [false, true]) {
    await Promise.all(watches.map((watch) => watch.begin()));
    const about = await attempt();
    try {
      return await checkWatches(watches, { ...limits, about });
    } catch (error) {
      if (isLast) throw error;
    }
  }
}

/** Fails when a service has blocked, or grown, beyond its limit since its watch began. */
export async function checkWatches(
  watches: readonly StallWatch[],
  { about = "", ...more }: Partial<AttackLimits> & { readonly about?: string } = {},
): Promise<void> {
  const limits = { ...ATTACK_LIMITS, ...more };
  for (const watch of watches) {
    const { stallMs, growthMb } = await watch.read();
    const seen = `${watch.service}: ${stallMs.toFixed(0)} ms, ${growthMb.toFixed(0)} MB ${about}`;
    if (process.env["YARD_TEST_SHOW_STALLS"] === "1") process.stderr.write(`${seen}\n`);
    assert.ok(stallMs <= limits.stallMs, `the event loop of ${seen}`);
    assert.ok(growthMb <= limits.growthMb, `the memory of ${seen}`);
  }
}
