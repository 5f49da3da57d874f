import { ServiceError } from "@switchyard/contracts/errors";
import { runTokens } from "@switchyard/contracts/ids";
import type { listRunEvents, RunEventRecord } from "@switchyard/contracts/agent-runner/run-history";
import type { z } from "zod";
import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import type { StoredEvent } from "@switchyard/bus/stored-event";

/** Calls `runs.events` as the user who reads. */
export type CallRunEvents = (
  request: z.input<typeof listRunEvents.request>,
) => Promise<z.output<typeof listRunEvents.reply>>;

export interface RunEventsOptions {
  /** With its owner in front. */
  readonly runId: string;
  /** The number of the last event that the reader has; it may receive earlier ones again. */
  readonly after?: number;
  readonly signal?: AbortSignal | undefined;
  readonly fromJournal: CallRunEvents;
  /** True for a reader that continues with live events: a run without events in the stream may not have begun while no runner answers. */
  readonly follows?: boolean;
}

/** Answers that mean that the journal has no events for this reader. */
const NONE: ReadonlySet<string> = new Set(["unknown_run", "journal_corrupt"]);

/**
 * Reads the events of a run so far. The runners derive those from its journal that the stream does not have any more, since it stores an
 * event for a week; they have the `sequence` 0 and their own time. Refusals of commands, and other events without a number, are in
 * the stream alone. Rejects with a ServiceError, as {@link readEvents} does, and when the journal is needed and no runner answers.
 */
export async function* storedRunEvents(
  bus: Bus,
  options: RunEventsOptions,
): AsyncGenerator<StoredEvent, void, undefined> {
  const { runId, after = 0, signal } = options;
  const { owner, runId: name } = runTokens(runId);
  const filters = [`yard.evt.run.${owner}.${name}.*`];
  const stored = readEvents(bus, {
    filters,
    from: "beginning",
    stopAtEnd: true,
    ...(signal !== undefined && { signal }),
  });
  // A gateway completes the events itself.
  if (bus.carrier !== undefined) {
    yield* stored;
    return;
  }
  let unnumbered: StoredEvent[] | null = [];
  for await (const event of stored) {
    const seq = seqOf(event);
    if (unnumbered !== null && seq === null) {
      unnumbered.push(event);
      continue;
    }
    if (unnumbered !== null && seq !== null) {
      const isWhole = seq <= after + 1;
      yield* isWhole ? unnumbered : completed(unnumbered, { ...options, before: seq });
      unnumbered = null;
    }
    yield event;
  }
  if (unnumbered !== null && signal?.aborted !== true)
    yield* completed(unnumbered, { ...options, before: Infinity });
}

/** Merges the events without a number with those of the journal, by the time at which they happened. */
async function* completed(
  unnumbered: readonly StoredEvent[],
  options: RunEventsOptions & { readonly before: number },
): AsyncGenerator<StoredEvent, void, undefined> {
  let waiting = unnumbered;
  for await (const event of journalEvents(options)) {
    const later = waiting.findIndex((one) => ownTime(one) > event.time);
    const earlier = later === -1 ? waiting.length : later;
    yield* waiting.slice(0, earlier);
    waiting = waiting.slice(earlier);
    yield event;
  }
  yield* waiting;
}

/**
 * Reads the events from the journal that have a lower number than `before`, from the last one on that the reader has: where that ends the
 * run, the reader has to see it.
 */
async function* journalEvents(
  options: RunEventsOptions & { readonly before: number },
): AsyncGenerator<StoredEvent, void, undefined> {
  const { runId, after = 0, before, signal } = options;
  let next: number | null = Math.max(0, after - 1);
  while (next !== null) {
    if (signal?.aborted === true) return;
    const page: Awaited<ReturnType<CallRunEvents>> | null = await pageAfter(next, options);
    for (const record of page?.events ?? []) {
      if (record.payload.seq >= before) return;
      yield await storedEvent(runId, record);
    }
    next = page?.next ?? null;
  }
}

/** Null when the journal has no events for this reader. */
async function pageAfter(
  after: number,
  { runId, before, fromJournal, follows = false }: RunEventsOptions & { readonly before: number },
) {
  try {
    return await fromJournal({ runId, after });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (NONE.has(error.code) || (follows && before === Infinity)) return null;
    throw error;
  }
}

async function storedEvent(runId: string, record: RunEventRecord): Promise<StoredEvent> {
  const { owner, runId: name } = runTokens(runId);
  const { eventOfSubject } = await import("@switchyard/contracts/registry");
  const subject = `yard.evt.run.${owner}.${name}.${record.event}`;
  return {
    subject,
    contract: eventOfSubject(subject),
    payload: record.payload,
    sequence: 0,
    time: new Date(record.payload.at),
    correlationId: runId,
  };
}

/** The number of an event in its run; null for one that has none. */
export function seqOf({ payload }: StoredEvent): number | null {
  const { seq } = Object(payload) as { readonly seq?: unknown };
  return typeof seq === "number" ? seq : null;
}

/** The time at which an event of a run happened, which is the same wherever the event was read. */
export function ownTime({ payload, time }: StoredEvent): Date {
  const { at } = Object(payload) as { readonly at?: unknown };
  return typeof at === "string" ? new Date(at) : time;
}
