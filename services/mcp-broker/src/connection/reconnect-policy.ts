import { backoffMs } from "@switchyard/contracts/backoff";
/**
 * The facts that decide when to reconnect. An outage begins with the loss of a connection (or the failed first connect) and ends with
 * any success, which resets them.
 */
export interface Outage {
  /** Reconnects that were tried since the outage began; all of them failed. */
  readonly reconnectsTried: number;
  readonly maxReconnectAttempts: number;
  /** True when a retry cannot help until a person changes the configuration or the machine. */
  readonly permanent: boolean;
}

export interface NextReconnect {
  /** The server's status until then. */
  readonly status: "disconnected" | "error";
  readonly delayMs: number;
}

const BACKOFF = { firstMs: 1_000, mostMs: 30_000 };
const JITTER = 0.2;

/**
 * Decides the wait before the next try: 1 s, doubling to 30 s, ±20 %; after the configured number
 * of failures the server is in `error` and is probed every 30 s. `random` is in [0, 1).
 */
export function nextReconnect(outage: Outage, random: number): NextReconnect {
  if (outage.permanent || outage.reconnectsTried >= outage.maxReconnectAttempts) {
    return { status: "error", delayMs: BACKOFF.mostMs };
  }
  const backoff = backoffMs(outage.reconnectsTried + 1, BACKOFF);
  const jittered = backoff * (1 - JITTER + 2 * JITTER * random);
  return { status: "disconnected", delayMs: Math.min(BACKOFF.mostMs, Math.round(jittered)) };
}
