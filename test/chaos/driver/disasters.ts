import type { Fault } from "./fault.ts";
import type { SeededRandom } from "./seeded-random.ts";

/**
 * Faults of more than one process, or longer than any timeout:
 *
 * - `outage-…`: every replica of a service is away for longer than a run's redeliveries last
 * - `blackout`: everything is killed at once, nats-server and redis-server too
 * - `freeze-…`: one process of that kind is stopped for longer than its leases last
 * - `disk-…`: the disk of nats-server or redis-server is full
 */
export type Disaster =
  | `outage-${string}`
  | "blackout"
  | `freeze-${string}`
  | "disk-nats"
  | "disk-redis";

export interface Cast {
  /** Processes that talk to NATS and Redis: `runner-1`, `policy-2`. */
  readonly services: readonly string[];
  /** `nats` and `redis`. */
  readonly servers: readonly string[];
  /** The servers whose disk can be filled. */
  readonly disks: readonly string[];
}

/** Every disaster that can happen to these processes. */
export function possibleDisasters({ services, servers, disks }: Cast): Disaster[] {
  const kinds = [...new Set(services.map(kindOf))];
  return [
    ...[...kinds, ...servers].map((kind): Disaster => `outage-${kind}`),
    "blackout",
    ...kinds.map((kind): Disaster => `freeze-${kind}`),
    ...disks.map((disk) => `disk-${disk}` as Disaster), // NATS and Redis are the only ones
  ];
}

/** In milliseconds. Every lease of a service ends within 10 s. */
const LASTS_MS = {
  outage: [11_000, 40_000],
  blackout: [200, 4_000],
  freeze: [11_000, 16_000],
  disk: [4_000, 15_000],
} as const;

/** Gives each disaster a time of its own, one behind the other. */
export function placeDisasters(
  random: SeededRandom,
  disasters: readonly Disaster[],
  { durationMs, ...cast }: Cast & { readonly durationMs: number },
): Fault[] {
  const slotMs = durationMs / Math.max(1, disasters.length);
  return disasters.map((disaster, index) => {
    const atMs = Math.floor(slotMs * (index + random.next() / 4));
    const [name = ""] = disaster.split("-");
    const [least, most] = LASTS_MS[name as keyof typeof LASTS_MS]; // the type guarantees it
    const leftMs = Math.floor(slotMs * (index + 1)) - atMs;
    const lastsMs = Math.min(leftMs, random.between(least, most));
    return { atMs, lastsMs, ...whatItHits(random, disaster, cast) };
  });
}

function whatItHits(
  random: SeededRandom,
  disaster: Disaster,
  { services, servers }: Cast,
): { kind: "kill" | "freeze" | "fill-disk"; parts: readonly string[] } {
  if (disaster === "blackout") return { kind: "kill", parts: [...services, ...servers] };
  const [name = "", who = ""] = disaster.split("-");
  const parts = [...services, ...servers].filter((part) => kindOf(part) === who);
  if (name === "outage") return { kind: "kill", parts };
  if (name === "freeze") return { kind: "freeze", parts: [random.pick(parts)] };
  return { kind: "fill-disk", parts };
}

/** `runner` of `runner-1`. */
export function kindOf(part: string): string {
  return part.replace(/-\d+$/, "");
}
