import type { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import {
  sessionCreated,
  sessionMessageQueued,
} from "@switchyard/contracts/agent-runner/session-events";
import { runQueued } from "@switchyard/contracts/agent-runner/run-events";
import { withFact, withRunFact } from "./session-facts.ts";
import type { Placed, SessionLimits, SessionRecord, SessionState } from "./session-record.ts";
import { kindOfKey, sessionIdOf } from "./session-slot.ts";

/** A message for a session. Each message becomes a run of its own unless it steers another one. */
export interface Arrival extends Placed {
  readonly slot: string;
  readonly owner: string;
  readonly key: string;
  readonly agent: string;
  /** The title of a session that has none yet. */
  readonly title: string;
  /** Undefined: the session's setting applies. */
  readonly onBusy: BusyPolicy | undefined;
  /** Undefined: the session's setting applies. */
  readonly skillsOff?: readonly string[] | undefined;
  /** True when it cannot steer the run that is under way: it waits instead. */
  readonly isOwnRun?: boolean;
}

/** The outcome for a message. */
export type Placing =
  /** Its run is the session's one run now: begin it. */
  | { readonly outcome: "go"; readonly session: SessionState }
  | { readonly outcome: "queued"; readonly session: SessionState; readonly position: number }
  /** It is the next one in the queue, and the run that is under way is to be cancelled. */
  | {
      readonly outcome: "interrupt";
      readonly session: SessionState;
      readonly active: Placed;
      readonly position: 1;
    }
  /** It is to be given to the run that is under way; the caller must find out whether the run receives it. */
  | { readonly outcome: "steer"; readonly session: SessionState; readonly into: string }
  | { readonly outcome: "busy"; readonly session: SessionState; readonly activeRun: string }
  | { readonly outcome: "full"; readonly session: SessionState }
  /** The run id belongs to another message. */
  | { readonly outcome: "taken"; readonly session: SessionState };

/** The number of steered messages that the record retains. */
const KNOWN_STEERED = 100;

/**
 * Places a message in its session, which is created when there is none. A repeated message keeps its position. The record is
 * unchanged when nothing is to be written.
 */
export function arrive(
  record: SessionRecord,
  arrival: Arrival,
  now: { readonly nowMs: number; readonly limits: SessionLimits },
): { readonly record: SessionRecord; readonly placing: Placing } {
  const at = new Date(now.nowMs).toISOString();
  if (record.session === null) return beginSession(record, arrival, now.nowMs);
  const known = knownPlacing(record.session, arrival);
  if (known !== null) return { record, placing: known };
  const { agent, skillsOff = record.session.skillsOff } = arrival;
  const title = record.session.title ?? arrival.title;
  const session = { ...record.session, agent, title, skillsOff: [...skillsOff], updatedAt: at };
  const placed = placedOf(arrival);
  if (session.active === null) {
    const going = { ...session, active: { ...placed, begun: false } };
    return { record: { ...record, session: going }, placing: { outcome: "go", session: going } };
  }
  const wanted = arrival.onBusy ?? session.onBusy;
  const onBusy = wanted === "steer" && arrival.isOwnRun === true ? "enqueue" : wanted;
  switch (onBusy) {
    case "reject": {
      const { runId: activeRun } = session.active;
      return { record, placing: { outcome: "busy", session: record.session, activeRun } };
    }
    case "steer": {
      const into = session.active.runId;
      const steered = [...session.steered, { ...placed, into, isTold: false }].slice(
        -KNOWN_STEERED,
      );
      const given = { ...session, steered };
      return {
        record: { ...record, session: given },
        placing: { outcome: "steer", session: given, into },
      };
    }
    case "interrupt":
    case "enqueue":
      return enqueue(record, session, { arrival, at, limits: now.limits });
    default:
      return onBusy satisfies never;
  }
}

function enqueue(
  record: SessionRecord,
  session: SessionState,
  {
    arrival,
    at,
    limits,
  }: { readonly arrival: Arrival; readonly at: string; readonly limits: SessionLimits },
): { readonly record: SessionRecord; readonly placing: Placing } {
  if (session.queue.length >= limits.maxQueued)
    return { record, placing: { outcome: "full", session } };
  const placed = placedOf(arrival);
  const isFirst = (arrival.onBusy ?? session.onBusy) === "interrupt";
  const queue = isFirst ? [placed, ...session.queue] : [...session.queue, placed];
  const position = isFirst ? 1 : queue.length;
  const waiting = { ...session, queue };
  const fields = { runId: arrival.runId, position };
  const noted = withFact({ ...record, session: waiting }, waiting, {
    contract: sessionMessageQueued,
    at,
    fields,
  });
  const next = withRunFact(noted, waiting, {
    contract: runQueued,
    runId: arrival.runId,
    at,
    fields: { position },
  });
  const { active } = session;
  if (isFirst && active !== null)
    return {
      record: next,
      placing: { outcome: "interrupt", session: waiting, active, position: 1 },
    };
  return { record: next, placing: { outcome: "queued", session: waiting, position } };
}

function beginSession(
  record: SessionRecord,
  arrival: Arrival,
  nowMs: number,
): { readonly record: SessionRecord; readonly placing: Placing } {
  const session: SessionState = {
    ...newSession(arrival, nowMs),
    title: arrival.title,
    skillsOff: [...(arrival.skillsOff ?? [])],
    active: { ...placedOf(arrival), begun: false },
  };
  return { record: withNew(record, session), placing: { outcome: "go", session } };
}

/** A session without messages. */
export function newSession(
  { slot, owner, key, agent }: Pick<Arrival, "slot" | "owner" | "key" | "agent">,
  nowMs: number,
): SessionState {
  const at = new Date(nowMs).toISOString();
  return {
    sessionId: sessionIdOf(slot, nowMs),
    key,
    owner,
    kind: kindOfKey(key),
    label: null,
    agent,
    model: null,
    skillsOff: [],
    onBusy: "enqueue",
    createdAt: at,
    updatedAt: at,
    totalTokens: 0,
    lastRun: null,
    active: null,
    queue: [],
    steered: [],
    refused: [],
    untold: [],
  };
}

/** Adds a new session to the record, and the event that announces it. */
export function withNew(record: SessionRecord, session: SessionState): SessionRecord {
  const { kind, agent, createdAt: at } = session;
  const fields = { kind, agent };
  return withFact({ ...record, session }, session, { contract: sessionCreated, at, fields });
}

/** The earlier placing of a message; null for a new message. */
function knownPlacing(session: SessionState, { runId, digest, onBusy }: Arrival): Placing | null {
  const { active, queue, steered } = session;
  const taken: Placing = { outcome: "taken", session };
  if (active?.runId === runId) return active.digest === digest ? { outcome: "go", session } : taken;
  const index = queue.findIndex((waiting) => waiting.runId === runId);
  if (index >= 0) {
    if (queue[index]?.digest !== digest) return taken;
    // The runner that put it there may have died before the run was cancelled.
    const isFirst = index === 0 && active !== null && (onBusy ?? session.onBusy) === "interrupt";
    if (isFirst) return { outcome: "interrupt", session, active, position: 1 };
    return { outcome: "queued", session, position: index + 1 };
  }
  const given = steered.find((message) => message.runId === runId);
  if (given === undefined) return null;
  return given.digest === digest ? { outcome: "steer", session, into: given.into } : taken;
}

function placedOf({ runId, digest, requester }: Placed): Placed {
  return { runId, digest, requester };
}
