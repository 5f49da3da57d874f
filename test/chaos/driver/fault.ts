/** Faults of processes: killed, terminated, or stopped and resumed. */
export type ProcessFault = "kill" | "terminate" | "freeze";
/** Faults of one of a service's connections; see `fault-proxy.ts`. */
export type ConnectionFault = "latency" | "blackhole" | "reset" | "cut";

/** One fault. Its parts are whole again `lastsMs` after `atMs`. */
export type Fault = {
  readonly atMs: number;
  readonly lastsMs: number;
  /** Processes of the world, such as `runner-1`; all of them are hit at once. */
  readonly parts: readonly string[];
} & (
  | { readonly kind: ProcessFault }
  /** The disk of NATS or Redis has no room left. */
  | { readonly kind: "fill-disk" }
  | {
      readonly kind: ConnectionFault;
      readonly route: "nats" | "redis";
      /** Milliseconds of latency, or bytes until the cut; without meaning for the others. */
      readonly amount: number;
    }
);

/** For people: `12.3 s freeze runner-1 for 4.5 s`. */
export function describeFault(fault: Fault): string {
  const parts = fault.parts.join(", ");
  const where = "route" in fault ? `${parts} (${fault.route})` : parts;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return `${seconds(fault.atMs)} ${fault.kind} ${where} for ${seconds(fault.lastsMs)}`;
}
