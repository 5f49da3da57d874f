import { kindOf, placeDisasters, type Cast, type Disaster } from "./disasters.ts";
import type { ConnectionFault, Fault, ProcessFault } from "./fault.ts";
import { seededRandom, type SeededRandom } from "./seeded-random.ts";

export interface ScheduleOptions extends Cast {
  readonly seed: number;
  /** No fault begins or lasts beyond it. */
  readonly durationMs: number;
  /** Mean time between two small faults; 0: there are none. */
  readonly everyMs: number;
  readonly disasters: readonly Disaster[];
  /** Kinds of services that small faults hit, such as `broker`; empty: every one, and NATS and Redis. */
  readonly only: readonly string[];
}

/** Longest times. A freeze may outlast the hold of a run (10 s) and the lease of a server (5 s). */
const LONGEST_MS = {
  kill: 1_500,
  terminate: 1_500,
  freeze: 13_000,
  latency: 4_000,
  blackhole: 13_000,
  reset: 3_000,
  cut: 3_000,
} as const;
/** All services wait for them, so that a long one only makes the round longer. */
const LONGEST_SERVER_FREEZE_MS = 4_000;

/** A fault is drawn as often as its share of these lists. */
const SERVICE_FAULTS: readonly (ProcessFault | ConnectionFault)[] = [
  "kill",
  "kill",
  "kill",
  "freeze",
  "freeze",
  "terminate",
  "latency",
  "blackhole",
  "reset",
  "cut",
];
const SERVER_FAULTS: readonly ProcessFault[] = ["kill", "kill", "terminate", "freeze"];
/** Share of faults that meet NATS or Redis. */
const SERVER_SHARE = 0.15;

/** Draws the faults and their times. The same options give the same faults; no part has two at a time. */
export function drawSchedule(options: ScheduleOptions): Fault[] {
  const { seed, durationMs, everyMs, servers, disasters, only } = options;
  const services = options.services.filter(
    (part) => only.length === 0 || only.includes(kindOf(part)),
  );
  const random = seededRandom(seed);
  const faults = placeDisasters(random, disasters, options);
  if (everyMs === 0) return faults;
  for (let atMs = 0; ;) {
    atMs += random.between(Math.ceil(everyMs / 4), Math.ceil(everyMs * 1.75));
    if (atMs >= durationMs) return faults.toSorted((one, other) => one.atMs - other.atMs);
    const isServer = only.length === 0 && random.next() < SERVER_SHARE;
    const part = random.pick(isServer ? servers : services);
    const fault = drawFault(random, { atMs, part, isServer, leftMs: durationMs - atMs });
    if (!faults.some((other) => other.parts.includes(part) && isTooClose(other, fault)))
      faults.push(fault);
  }
}

/** A part that came back is given a moment before it is hit again, or it would never do any work. */
const SETTLE_MS = 1_500;

function isTooClose(one: Fault, other: Fault): boolean {
  const endOf = ({ atMs, lastsMs }: Fault): number => atMs + lastsMs + SETTLE_MS;
  return one.atMs < endOf(other) && other.atMs < endOf(one);
}

function drawFault(
  random: SeededRandom,
  where: { atMs: number; part: string; isServer: boolean; leftMs: number },
): Fault {
  const { atMs, part, isServer, leftMs } = where;
  const kind = random.pick(isServer ? SERVER_FAULTS : SERVICE_FAULTS);
  const longest = isServer && kind === "freeze" ? LONGEST_SERVER_FREEZE_MS : LONGEST_MS[kind];
  // Short ones are as interesting as long ones: half of them last less than a quarter.
  const lastsMs = Math.min(leftMs, Math.ceil(longest * random.next() ** 2));
  if (kind === "kill" || kind === "terminate" || kind === "freeze")
    return { atMs, lastsMs, parts: [part], kind };
  const route = random.pick(["nats", "redis"] as const);
  const amount = kind === "latency" ? random.between(5, 400) : random.between(1, 20_000);
  return { atMs, lastsMs, parts: [part], kind, route, amount };
}
