import type { Bus } from "@switchyard/bus/bus";
import { lastMessageId } from "@switchyard/bus/last-event";
import { publishCommand } from "@switchyard/bus/publish";
import { subjectOf } from "@switchyard/contracts/define";
import { CallerName, runTokens } from "@switchyard/contracts/ids";
import { proceedSession } from "@switchyard/contracts/agent-runner/sessions";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { JournalEntry } from "../core/journal-entry.ts";
import { isOutage, type ServiceClients } from "../context/service-clients.ts";
import { publishNoted } from "../journal/publish-noted.ts";
import type { RunControls } from "../journal/run-controls.ts";
import type { UnsyncedEvents } from "../journal/unsynced-events.ts";
import type { RunFacts } from "../core/due.ts";
import { OUTBOX_EVENTS } from "./session-facts.ts";
import type { IndexEntry, SessionIndex } from "./session-index.ts";
import type { PendingEvent, SessionLimits, SessionState } from "./session-record.ts";
import type { SessionStore } from "./session-store.ts";
import type { Handover } from "./transitions.ts";

/** The queries of sessions about runs; null when there is no run under the id. */
export interface KnownRuns {
  load(runId: string): Promise<readonly JournalEntry[]>;
  status(runId: string): Promise<string | null>;
  facts(runId: string): Promise<RunFacts | null>;
  /** The digest of the command that the run was made from, to be compared by `isSameCommand`. */
  digest(runId: string): Promise<string | null>;
}

/** The parts that all operations on sessions need. */
export interface SessionParts {
  readonly bus: Bus;
  readonly log: Log;
  readonly store: SessionStore;
  readonly index: SessionIndex;
  readonly controls: RunControls;
  readonly runs: KnownRuns;
  readonly clients: Pick<ServiceClients, "grantRun">;
  readonly unwritten: Pick<UnsyncedEvents, "addEvent">;
  readonly storage: Pick<OwnerStorage, "admit">;
  readonly limits: SessionLimits;
  /** Returns why runs cannot use a model by this name; null when they can. */
  readonly problemOfModel: (name: string) => string | null;
  /** The limit for the part of a history that a run is given. */
  readonly contextBytes: number;
  readonly now: () => number;
}

/** An event or a run may be late by this time when the runner that was responsible for it has died. */
export const RECHECK_MS = 60_000;
/** The same for a run that got its turn just now: the hint may not have been sent. */
export const FIRST_LOOK_MS = 5_000;

/**
 * Publishes the pending events of a session's record, in order, and removes them. Events that cannot be sent now stay in the
 * record, and the sweeper sends them. `isLate` means that they may have been sent long ago.
 */
export async function flush(
  parts: SessionParts,
  { slot }: Pick<IndexEntry, "slot">,
  { isLate = false }: { readonly isLate?: boolean } = {},
): Promise<void> {
  const { bus, store, log } = parts;
  const { outbox } = (await store.read(slot)).record;
  if (outbox.length === 0) return;
  try {
    for (const { event, token, messageId, payload } of outbox) {
      const contract = OUTBOX_EVENTS.get(event);
      if (contract === undefined) throw new TypeError(`no event of a session is called ${event}`);
      const tokens = tokensOf(token, { event, payload });
      if (isLate && (await isStored(bus, subjectOf<string>(contract, tokens), messageId))) continue;
      await publishNoted({ contract, tokens, payload, messageId, correlationId: token }, parts);
    }
  } catch (err) {
    if (!isOutage(err)) throw err;
    log.warn({ slot, err }, "session events not sent");
    return;
  }
  const sent = new Set(outbox.map(({ messageId }) => messageId));
  await store.change(slot, ({ record }) => {
    const left = record.outbox.filter(({ messageId }) => !sent.has(messageId));
    const isSame = left.length === record.outbox.length;
    return { record: isSame ? record : { ...record, outbox: left }, result: undefined };
  });
}

function tokensOf(
  token: string,
  { event, payload }: Pick<PendingEvent, "event" | "payload">,
): { readonly owner: string; readonly runId?: string; readonly sessionId?: string } {
  if (event.startsWith("run.")) return runTokens(token);
  return { owner: CallerName.parse(payload["owner"]), sessionId: token };
}

/** The stream itself drops a repeat only for as long as it stores the message id. */
async function isStored(bus: Bus, subject: string, messageId: string): Promise<boolean> {
  const last = await lastMessageId(bus, subject);
  if (last === null || last === messageId) return last !== null;
  // The events of a session are numbered, and are stored in that order.
  const [session, number] = messageId.split(":");
  const [lastSession, lastNumber] = last.split(":");
  return session === lastSession && Number(number) <= Number(lastNumber);
}

/** Publishes to the queue that a run has its turn. The sweeper sends a lost message again. */
export async function proceed(
  { bus, log }: Pick<SessionParts, "bus" | "log">,
  next: Handover["next"],
): Promise<void> {
  if (next === null) return;
  const { sessionId, runId } = next;
  try {
    await publishCommand(bus, proceedSession, { sessionId }, { runId });
  } catch (err) {
    if (!isOutage(err)) throw err;
    log.warn({ runId, err }, "hint about the turn of a run not sent");
  }
}

/** A session that `sessions_spawn` began for a task is not needed for long. */
const SPAWNED_IDLE_MS = 3_600_000;

/** The time when a session ends unless it is used, in milliseconds since the Unix epoch. */
export function endsAtMs(
  { key, updatedAt }: Pick<SessionState, "key" | "updatedAt">,
  { idleMs }: SessionLimits,
): number {
  const ownMs = key.includes(":subagent:") ? Math.min(idleMs, SPAWNED_IDLE_MS) : idleMs;
  return Date.parse(updatedAt) + ownMs;
}
