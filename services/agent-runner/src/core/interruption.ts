import type { StopInForce } from "@switchyard/contracts/policy/policy-budgets";
import type { RunFailure } from "@switchyard/contracts/agent-runner/runs";
import type { Decision } from "@switchyard/contracts/policy/policy";

/** This runner is stopping: the run returns to the queue unharmed, at a point where its journal is complete. */
export class HandOver extends Error {
  override readonly name = "HandOver";
}

/** A service that the run needs is down: the run returns to the queue and comes again after a pause. */
export class Suspended extends Error {
  override readonly name = "Suspended";
  /** The expected length of the outage in milliseconds; null when it is unknown. */
  readonly waitMs: number | null;

  constructor(message: string, options: { cause?: unknown; waitMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.waitMs = options.waitMs ?? null;
  }
}

/** An administrator stopped the run: it waits, held by no runner, until the stop is lifted. */
export class RunStopped extends Error {
  override readonly name = "RunStopped";
  readonly stop: StopInForce;
  /** True when the call that was refused may have been made by an earlier attempt. */
  readonly mayHaveRun: boolean;

  constructor(
    stop: StopInForce,
    { mayHaveRun = false, cause }: { mayHaveRun?: boolean; cause?: unknown } = {},
  ) {
    super("the run is stopped by an administrator", { cause });
    this.stop = stop;
    this.mayHaveRun = mayHaveRun;
  }
}

/** The policy gives the run no token, and will not while its rules stay the same: the run fails. */
export class RunRefused extends Error {
  override readonly name = "RunRefused";
  readonly failure: RunFailure;

  constructor(failure: RunFailure, options: { cause: unknown }) {
    super(failure.message, options);
    this.failure = failure;
  }
}

/** The run's own time is over. */
export class TimeOver extends Error {
  override readonly name = "TimeOver";
  /** False when the run only waits for more time: calls in progress continue. */
  readonly endsRun: boolean;

  constructor(message: string, { endsRun }: { readonly endsRun: boolean }) {
    super(message);
    this.endsRun = endsRun;
  }
}

/** The run is to be cancelled: calls in progress stop and the journal is closed. */
export class CancelRequested extends Error {
  override readonly name = "CancelRequested";
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Returns the stop behind a denial, when it blocks all calls of the run; null for a denial by the rules, and for a stop of one
 * server or key, which is the result of the call: the run has other tools, or gets another token.
 */
export function stopOfRun({ stop }: Pick<Decision, "stop">): StopInForce | null {
  const ofRun = stop !== undefined && stop.scope.kind !== "server" && stop.scope.kind !== "key";
  return ofRun ? stop : null;
}
