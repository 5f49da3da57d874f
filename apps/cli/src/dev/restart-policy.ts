import { backoffMs } from "@switchyard/contracts/backoff";
/** The number of failures of a process in a row, and the time of its last start. */
export interface RestartState {
  readonly failures: number;
  readonly startedAtMs: number;
}

const BACKOFF = { firstMs: 500, mostMs: 30_000 };
/** A process that ran this long was healthy: its next failure is a first one. */
const HEALTHY_AFTER_MS = 30_000;

/** Returns the delay before a process that died is restarted, and the new number of failures. */
export function nextRestart(
  state: RestartState,
  diedAtMs: number,
): { readonly delayMs: number; readonly failures: number } {
  const wasHealthy = diedAtMs - state.startedAtMs >= HEALTHY_AFTER_MS;
  const failures = wasHealthy ? 1 : state.failures + 1;
  return { failures, delayMs: backoffMs(failures, BACKOFF) };
}
