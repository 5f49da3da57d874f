import { RunReader } from "@switchyard/client/run-reader";
import type { Bus } from "@switchyard/bus/bus";
import { placeOf, type EventPlace } from "@switchyard/bus/event-place";
import { client } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { ownTime, seqOf, storedRunEvents } from "@switchyard/service/read-run-events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { tokensOf } from "@switchyard/contracts/define";
import { resumeRun, steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import { fullRunId, runTokens } from "@switchyard/contracts/ids";
import {
  runCancelled,
  runDead,
  runFailed,
  runFinished,
  runMerged,
  runRejected,
} from "@switchyard/contracts/agent-runner/run-events";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { cancelRun, retryRun } from "@switchyard/contracts/agent-runner/runs";
import { CliError } from "./cli-error.ts";
import { count } from "./quantities.ts";
import { cancelText, payloadOf } from "./run-timeline.ts";

/** The end of a run. */
export type RunEnd =
  /** `isWhole`: false when the output is too long for an event, or has what looks like a secret. */
  | { readonly end: "finished"; readonly output: string; readonly isWhole: boolean }
  | { readonly end: "failed"; readonly code: string; readonly message: string }
  | { readonly end: "cancelled"; readonly code: "cancelled"; readonly message: string }
  | { readonly end: "rejected"; readonly code: string; readonly message: string };

/** The message became part of another run of its session, whose end is this one's. */
export interface RunMerge {
  readonly end: "merged";
  readonly into: string;
}

/**
 * Reads the events of one run from its first one, also when it began earlier, and calls `onEvent`
 * for each in order, once. Stored events are read to their end, because a retry continues a run.
 * Resolves with the end of the run, or with null when the signal aborted or, with `stopAtEnd`, when
 * no end is stored.
 */
export async function followRun(
  bus: Bus,
  options: {
    runId: string;
    onEvent: (event: StoredEvent) => void;
    signal?: AbortSignal;
    stopAtEnd?: boolean;
    /** For a run that may not exist. Without it the run is known to come, and is waited for. */
    queueWait?: QueueWait;
  },
): Promise<RunEnd | RunMerge | null> {
  const { runId, onEvent, signal, stopAtEnd = false } = options;
  const full = fullRunId(bus.user, runId);
  const run = runTokens(full);
  const filters = [`yard.evt.run.${run.owner}.${run.runId}.*`];
  const reader = new RunReader<RunEnd | RunMerge>();
  let lastStored: EventPlace | null = null;
  let hasEvents = false;
  const take = (event: StoredEvent): void => {
    hasEvents = true;
    if (event.sequence > 0) lastStored = placeOf(event);
    // The owner also receives refusals about other users' runs of the same name.
    if ((payloadOf(event, runRejected)?.runId ?? full) !== full) return;
    const name = event.subject.slice(event.subject.lastIndexOf(".") + 1);
    const isNew = reader.take(name, event.payload, () => {
      const end = endOf(event);
      return end?.end !== "rejected" || isRefused(event, reader.hasBegun) ? end : null;
    });
    if (isNew) onEvent(asInItsRun(event));
  };
  const fromJournal = client(bus, { listRunEvents }).listRunEvents;
  try {
    const stored = { runId: full, signal, fromJournal, follows: !stopAtEnd };
    for await (const event of storedRunEvents(bus, stored)) take(event);
    if (reader.end !== null || stopAtEnd) return reader.end;
    if (signal?.aborted === true) return null;
    const first = hasEvents ? undefined : options.queueWait;
    first?.onNothing();
    const from = lastStored === null ? "beginning" : { after: lastStored };
    const missed = new AbortController();
    const timer =
      first === undefined ? undefined : setTimeout(() => missed.abort(), first.seconds * 1_000);
    const until = signal === undefined ? missed.signal : AbortSignal.any([signal, missed.signal]);
    try {
      for await (const event of readEvents(bus, { filters, from, signal: until })) {
        clearTimeout(timer);
        take(event);
        if (reader.end !== null) return reader.end;
      }
    } finally {
      clearTimeout(timer);
    }
    if (first !== undefined && missed.signal.aborted) throw unknownRun(runId, first.seconds);
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  return null;
}

/** Gives an event its number and its time in its run, which do not depend on where it was read: the stream, a gateway or the journal. */
function asInItsRun(event: StoredEvent): StoredEvent {
  return { ...event, sequence: seqOf(event) ?? 0, time: ownTime(event) };
}

/** The wait for the first event of a run that may not exist. */
export interface QueueWait {
  readonly seconds: number;
  /** Called before the wait. */
  readonly onNothing: () => void;
}

function unknownRun(runId: string, seconds: number): CliError {
  return new CliError(
    "unknown_run",
    `run ${runId} is still unknown after ${count(seconds, "second")}: there is no such run, or no runner has taken it from the queue`,
    { hint: "see the runs with: ./yard runs list; wait longer for a queued one with: --wait 600" },
  );
}

/** Commands to a run: a refusal of one does not show whether the run begins. */
const CONTROLS = [cancelRun, resumeRun, retryRun, steerRun] as const;
const JOURNAL_CORRUPT = "journal_corrupt";

/**
 * True when there will be no such run. A run that has started cannot be refused: the refusal then answers another command with its
 * id, unless its journal is corrupt. A queued run is not ended by the refusal of a command that came too early.
 */
function isRefused(event: StoredEvent, hasStarted: boolean): boolean {
  const rejected = payloadOf(event, runRejected);
  if (rejected === null) return false;
  if (rejected.code === JOURNAL_CORRUPT) return true;
  return !hasStarted && !CONTROLS.some((contract) => tokensOf(contract, rejected.subject) !== null);
}

/** Parses a terminal event; null for any other event. */
export function endOf(event: StoredEvent): RunEnd | RunMerge | null {
  const merged = payloadOf(event, runMerged);
  if (merged !== null) return { end: "merged", into: merged.into };
  const finished = payloadOf(event, runFinished);
  if (finished !== null) {
    const { output, abridged = [] } = finished;
    return { end: "finished", output, isWhole: !abridged.some(({ field }) => field === "output") };
  }
  const failed = payloadOf(event, runFailed);
  if (failed !== null) return { end: "failed", ...failed.failure };
  const dead = payloadOf(event, runDead);
  if (dead !== null) return { end: "failed", ...dead.failure };
  const cancelled = payloadOf(event, runCancelled);
  if (cancelled !== null) {
    return { end: "cancelled", code: "cancelled", message: cancelText(cancelled) };
  }
  const rejected = payloadOf(event, runRejected);
  if (rejected !== null) {
    return { end: "rejected", code: rejected.code, message: rejected.message };
  }
  return null;
}
