import { AgentName, CallerName, RunId, Timestamp } from "@switchyard/contracts/ids";
import { RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import { RunSender } from "@switchyard/contracts/agent-runner/run-sender";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { Session } from "@switchyard/contracts/agent-runner/sessions";
import { z } from "zod";

/** A run that has its turn or a position in a session, and the digest of its command: one id is one message. */
const Placed = z.object({ runId: RunId, digest: z.string(), requester: CallerName });

/** The fields of a session that are shown and stored as they are; the other shown fields are computed. */
const SessionState = Session.pick({
  sessionId: true,
  key: true,
  owner: true,
  kind: true,
  label: true,
  title: true,
  agent: true,
  model: true,
  skillsOff: true,
  onBusy: true,
  createdAt: true,
  updatedAt: true,
  totalTokens: true,
  lastRun: true,
}).extend({
  /** The only run that may be under way. `begun`: it exists, and only its end releases the turn. */
  active: Placed.extend({ begun: z.boolean() }).nullable(),
  /** The last run that has ended and that no run of another session had sent. */
  ownRun: RunId.optional(),
  queue: z.array(Placed),
  /** Messages that were given to a run, the latest ones: a repeat is not a new message. */
  steered: z.array(Placed.extend({ into: RunId, isTold: z.boolean() })),
  /** Messages of which no run could be made, the latest ones, and why. */
  refused: z.array(z.object({ runId: RunId, code: z.string(), message: z.string() })),
  /** Runs that ended without success, the latest ones, and how much of each is in the history: a retry adds to it. */
  untold: z.array(z.object({ runId: RunId, tokens: z.int(), messages: z.int(), turns: z.int() })),
});
export type SessionState = z.infer<typeof SessionState>;
export type Placed = z.infer<typeof Placed>;

/** An event that is stored until it is published. */
const PendingEvent = z.object({
  /** The contract's name, the id in its subject, and the message id that identifies a repeat. */
  event: z.string(),
  token: z.string(),
  messageId: z.string(),
  payload: z.record(z.string(), z.unknown()),
});
export type PendingEvent = z.infer<typeof PendingEvent>;

/** The stored state of an owner's key beside the history. A session that has ended leaves its last events. */
export const SessionRecord = z.object({
  seq: z.int().nonnegative(),
  outbox: z.array(PendingEvent),
  session: SessionState.nullable(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

export const NO_RECORD: SessionRecord = { seq: 0, outbox: [], session: null };

/** The command of a run that waits for its turn or has it, so that any runner can begin it. */
export const SessionCommand = z.object({
  runId: RunId,
  agent: AgentName,
  requester: CallerName,
  payload: startRun.payload,
  digest: z.string(),
  /** The service that delivered it for its requester; the origin that it states is trusted. */
  broughtBy: CallerName.optional(),
  followUp: RunFollowUp.optional(),
  /** The run that sent the message, whose rights limit those of this one. */
  sender: RunSender.optional(),
  /** The message that brought it; the sequence is 0 for a request. */
  message: z.object({
    subject: z.string(),
    caller: z.string(),
    streamSequence: z.int().nonnegative(),
    messageId: z.string().nullable(),
    publishedAt: Timestamp,
  }),
});
export type SessionCommand = z.infer<typeof SessionCommand>;

/** The limits of an owner's sessions. */
export interface SessionLimits {
  readonly maxQueued: number;
  readonly maxPerOwner: number;
  /** Time without use after which a session ends, in milliseconds. */
  readonly idleMs: number;
}
