import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  callsResumed,
  listStops,
  scopeText,
  type StopScope,
} from "@switchyard/contracts/policy/policy-budgets";
import type { ParkedRuns, StoppedRun } from "../journal/parked-runs.ts";
import type { RunControls } from "../journal/run-controls.ts";
import { LIFT } from "../journal/run-store.ts";

/** Wakes those of the runs whose stop is lifted. While the policy service is away it does nothing. */
export type FindLifted = (stopped: readonly StoppedRun[]) => Promise<void>;

interface LiftParts {
  readonly controls: Pick<RunControls, "append">;
  readonly now: () => number;
}

/**
 * Used by the sweeper: a stop may be lifted while no runner receives the event. Another stop may still apply to the run; the
 * policy refuses its next token then.
 */
export function createFindLifted(bus: Bus, parts: LiftParts): FindLifted {
  const policy = client(bus, { listStops });
  return async (stopped) => {
    if (stopped.length === 0) return;
    const inForce = await stopsInForce(() => policy.listStops({}));
    if (inForce === null) return; // the next sweep retries
    for (const { runId, scope } of stopped)
      if (!inForce.has(scopeText(scope))) await noteLifted(runId, parts);
  };
}

/** Wakes all runs of a stop as soon as it is lifted. Every runner does so, and each run is woken once. */
export function followLifts(
  bus: Bus,
  {
    parked,
    onFault,
    ...parts
  }: LiftParts & {
    readonly parked: Pick<ParkedRuns, "stopped">;
    readonly onFault: (fault: { error: unknown }) => void;
  },
): { stop(): void } {
  const wakeAll = async (lifted: StopScope): Promise<void> => {
    for (const { runId, scope } of await parked.stopped())
      if (scopeText(scope) === scopeText(lifted)) await noteLifted(runId, parts);
  };
  return follow(bus, callsResumed, ({ scope }) => {
    wakeAll(scope).catch((error: unknown) => onFault({ error }));
  });
}

async function stopsInForce(
  ask: () => Promise<{ stops: readonly { scope: StopScope }[] }>,
): Promise<ReadonlySet<string> | null> {
  try {
    return new Set((await ask()).stops.map(({ scope }) => scopeText(scope)));
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

async function noteLifted(runId: string, { controls, now }: LiftParts): Promise<void> {
  const entry = { kind: "stop-lifted" as const, at: new Date(now()).toISOString() };
  await controls.append({ runId, entry, by: null, expected: LIFT, command: null });
}
