import { seededRandom, type SeededRandom } from "./seeded-random.ts";

/** What is done to a process: ended at once, asked to end, or stopped and resumed. */
type ProcessFault = "kill" | "terminate" | "freeze";
/** What is done to one of a service's connections; see `fault-proxy.ts`. */
type ConnectionFault = "latency" | "blackhole" | "reset" | "cut";

/** One thing that goes wrong. The part is whole again `lastsMs` after `atMs`. */
export type Fault = {
  readonly atMs: number;
  readonly lastsMs: number;
  /** A process of the world, such as `runner-1`. */
  readonly part: string;
} & (
  | { readonly kind: ProcessFault }
  | {
      readonly kind: ConnectionFault;
      readonly route: "nats" | "redis";
      /** Milliseconds of latency, or bytes until the cut; without meaning for the others. */
      readonly amount: number;
    }
);

export interface ScheduleOptions {
  readonly seed: number;
  /** No fault begins or lasts beyond it. */
  readonly durationMs: number;
  /** Mean time between two faults. */
  readonly everyMs: number;
  /** Processes that talk to NATS and Redis, and can have faults of their connections. */
  readonly services: readonly string[];
  /** Processes that can only be killed, ended and frozen. */
  readonly servers: readonly string[];
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
/** Everything stands still with them, so that a long one only makes the round longer. */
const LONGEST_SERVER_FREEZE_MS = 4_000;

/** The more often one stands in these lists, the more often it happens. */
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

/** Draws what goes wrong when. The same options give the same faults; no part has two at a time. */
export function drawSchedule(options: ScheduleOptions): Fault[] {
  const { seed, durationMs, everyMs, services, servers } = options;
  const random = seededRandom(seed);
  const busyUntil = new Map<string, number>();
  const faults: Fault[] = [];
  for (let atMs = 0; ;) {
    atMs += random.between(Math.ceil(everyMs / 4), Math.ceil(everyMs * 1.75));
    if (atMs >= durationMs) return faults;
    const isServer = random.next() < SERVER_SHARE;
    const part = random.pick(isServer ? servers : services);
    const fault = drawFault(random, { atMs, part, isServer, leftMs: durationMs - atMs });
    if (atMs < (busyUntil.get(part) ?? 0)) continue;
    busyUntil.set(part, atMs + fault.lastsMs + SETTLE_MS);
    faults.push(fault);
  }
}

/** A part that came back is given a moment before it is hit again, or it would never do any work. */
const SETTLE_MS = 1_500;

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
    return { atMs, lastsMs, part, kind };
  const route = random.pick(["nats", "redis"] as const);
  const amount = kind === "latency" ? random.between(5, 400) : random.between(1, 20_000);
  return { atMs, lastsMs, part, kind, route, amount };
}

/** For people: `12.3 s freeze runner-1 for 4.5 s`. */
export function describeFault(fault: Fault): string {
  const where = "route" in fault ? `${fault.part} (${fault.route})` : fault.part;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return `${seconds(fault.atMs)} ${fault.kind} ${where} for ${seconds(fault.lastsMs)}`;
}
