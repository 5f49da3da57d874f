import { backoffMs } from "@switchyard/contracts/backoff";
import type { CircuitState } from "@switchyard/contracts/mcp-broker/mcp-calls";

/**
 * Keeps calls from a server that fails repeatedly. Only failures of the connection count: time-outs of the server's own limit and
 * lost connections. Every answer of the server counts as good, even a malformed one.
 *
 * Closed, it counts failures in a row. Open, it refuses until a pause is over. Then one call tries: its success closes the
 * circuit, its failure opens it for twice as long.
 */
export type Circuit =
  | { readonly state: "closed"; readonly failures: number }
  | { readonly state: "open"; readonly until: number; readonly openings: number }
  | { readonly state: "half_open"; readonly openings: number };

/**
 * The result of a call for the circuit: `none` for one that was cancelled or never sent, `lost` for one whose connection ended,
 * which ends every call that is on it.
 */
export type CallEnd = Verdict | "lost";
export type Verdict = "good" | "bad" | "none";

export type Admission =
  | { readonly admitted: true; readonly isProbe: boolean }
  | { readonly admitted: false; readonly retryAfterMs: number };

/** Failures in a row that open the circuit. */
export const FAILURES_TO_OPEN = 5;
const BACKOFF = { firstMs: 2_000, mostMs: 60_000 };
/** The delay after which a caller should retry while another call probes the server, which takes an unknown time. */
const PROBING_RETRY_MS = 1_000;

export const closedCircuit: Circuit = { state: "closed", failures: 0 };

/** Lets a call through or not. Times in milliseconds of any one clock that does not go back. */
export function admit(
  circuit: Circuit,
  now: number,
): { readonly circuit: Circuit; readonly admission: Admission } {
  switch (circuit.state) {
    case "closed":
      return { circuit, admission: { admitted: true, isProbe: false } };
    case "open": {
      const retryAfterMs = Math.ceil(circuit.until - now);
      if (retryAfterMs > 0) return { circuit, admission: { admitted: false, retryAfterMs } };
      const { openings } = circuit;
      return {
        circuit: { state: "half_open", openings },
        admission: { admitted: true, isProbe: true },
      };
    }
    case "half_open":
      return { circuit, admission: { admitted: false, retryAfterMs: PROBING_RETRY_MS } };
    default:
      return circuit satisfies never;
  }
}

/** Records the verdict of an admitted call. Late calls of a circuit that has opened since have no effect. */
export function settle(
  circuit: Circuit,
  call: { readonly verdict: Verdict; readonly isProbe: boolean },
  now: number,
): Circuit {
  if (circuit.state === "closed") return call.isProbe ? circuit : count(circuit, call.verdict, now);
  if (circuit.state === "open" || !call.isProbe) return circuit;
  const { openings } = circuit;
  if (call.verdict === "good") return closedCircuit;
  if (call.verdict === "bad") return open(openings + 1, now);
  return { state: "open", until: now, openings }; // the next call tries in its place
}

/** Returns the time for which the circuit stays open for the nth time in a row, from 1. */
export function pauseMs(openings: number): number {
  return backoffMs(openings, BACKOFF);
}

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/** A circuit that is in use. `now` in milliseconds, of a clock that does not go back. */
export function createCircuitBreaker(now: () => number) {
  let circuit = closedCircuit;
  let entries = 0;
  /** The number of calls that had entered when a loss was counted last: they report the same loss. */
  let entriesAtLoss = 0;
  const verdictOf = (end: CallEnd, { entry, isProbe }: { entry: number; isProbe: boolean }) => {
    if (end !== "lost") return end;
    if (entry <= entriesAtLoss && !isProbe) return "none";
    entriesAtLoss = entries;
    return "bad";
  };
  return {
    get state(): CircuitState {
      return circuit.state;
    },
    /** Returns the time for which a call would be refused now, or null when it would be let through. */
    refusedForMs(): number | null {
      const { admission } = admit(circuit, now());
      return admission.admitted ? null : admission.retryAfterMs;
    },
    /** Lets a call through, whose verdict must follow, or returns when to retry. */
    enter(): { readonly settle: (end: CallEnd) => void } | { readonly retryAfterMs: number } {
      const entered = admit(circuit, now());
      circuit = entered.circuit;
      const { admission } = entered;
      if (!admission.admitted) return { retryAfterMs: admission.retryAfterMs };
      const { isProbe } = admission;
      entries += 1;
      const entry = entries;
      return {
        settle: (end) => {
          const verdict = verdictOf(end, { entry, isProbe });
          circuit = settle(circuit, { verdict, isProbe }, now());
        },
      };
    },
  };
}

function count(
  circuit: Extract<Circuit, { state: "closed" }>,
  verdict: Verdict,
  now: number,
): Circuit {
  if (verdict === "none") return circuit;
  if (verdict === "good") return circuit.failures === 0 ? circuit : closedCircuit;
  const failures = circuit.failures + 1;
  return failures >= FAILURES_TO_OPEN ? open(1, now) : { state: "closed", failures };
}

function open(openings: number, now: number): Circuit {
  return { state: "open", until: now + pauseMs(openings), openings };
}
