import type { Approval } from "@switchyard/contracts/policy/approval-record";

/** The state after a round, as plain data: nothing in here was computed by a runner. */
export interface Evidence {
  /** Runs whose command the queue has acknowledged. */
  readonly accepted: readonly string[];
  /** Every run in Redis, also those that runs have started. */
  readonly runs: readonly RunEvidence[];
  /** Lines of the book that the MCP server's calls write, in the order of the file. */
  readonly effects: readonly Effect[];
  readonly approvals: readonly Approval[];
  /** Calls that the policy permitted, from its audit. */
  readonly permits: readonly Permit[];
  /** Processes of the round that still run after everything was stopped. */
  readonly leftOver: readonly { readonly pid: number; readonly name: string }[];
  /** Services that ended without a fault of the schedule. */
  readonly crashes: readonly string[];
  /** Subjects of the commands that were still in the queue when the time for them was over. */
  readonly queued: readonly string[];
  /** Commands and subjects that Redis or NATS refused a service. */
  readonly refusals: readonly string[];
  /** Commands that were refused, although every one of the round is good. */
  readonly rejections: readonly Rejected[];
  readonly sessions: readonly SessionEvidence[];
  readonly messages: readonly MessageEvidence[];
  readonly jobs: readonly JobEvidence[];
  /** Faults of processes that may count as their death. */
  readonly absences: readonly Absence[];
}

/** A person's messages in one conversation of a channel, and the answers there. */
export interface MessageEvidence {
  readonly conversation: string;
  readonly said: readonly string[];
  readonly answers: readonly string[];
}

/** A job that was due once, and the ends that its history has. */
export interface JobEvidence {
  readonly jobId: string;
  readonly ends: readonly {
    readonly status: "ok" | "error" | "skipped";
    readonly error: string | null;
  }[];
}

/** A `run.rejected` event. */
export interface Rejected {
  readonly runId: string;
  readonly code: string;
  readonly message: string;
}

/** A session as stored in Redis, and its events. */
export interface SessionEvidence {
  readonly sessionId: string;
  /** The current run, and those that wait for their turn. */
  readonly active: string | null;
  readonly queue: readonly string[];
  /** Runs whose messages are in the history, one entry for each message of a user. */
  readonly said: readonly string[];
  /** In the order of the stream. */
  readonly events: readonly SessionEventFact[];
}

export interface SessionEventFact {
  /** The last token of the subject. */
  readonly name: string;
  readonly seq: number;
  readonly runId: string | null;
}

/** A time in which a process was away, in milliseconds since the epoch. */
export interface Absence {
  /** A process of the world, such as `runner-1`. */
  readonly part: string;
  readonly from: number;
  readonly to: number;
}

export interface RunEvidence {
  readonly runId: string;
  /** The status in the run's own hash in Redis. */
  readonly status: string;
  readonly journal: readonly JournalFact[];
  /** In the order of the stream. */
  readonly events: readonly EventFact[];
}

/** One entry of a journal; only the members that the checker reads. */
export interface JournalFact {
  readonly kind: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly callId?: string;
  readonly step?: number;
  /** `allow` when the provider reported that the call was allowed. */
  readonly effect?: string;
  /** Set for an answer: the calls that it requests. */
  readonly calls?: readonly AskedCall[];
  /** Set for the start and the end of a run that works for this one. */
  readonly childRunId?: string;
  /** Set for such an end: the reported status. */
  readonly status?: string;
  /** Set for the first entry: a second execution is allowed when the outcome of the first was unknown. */
  readonly onUnknownOutcome?: string;
  /** Set for the first entry: the session of the run, and its time limit. */
  readonly sessionId?: string;
  readonly timeoutMs?: number;
  /** Set for a failed call, and for a run that failed or is dead. */
  readonly code?: string;
}

export interface AskedCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
}

export interface EventFact {
  /** The last token of the subject. */
  readonly name: string;
  readonly seq: number;
  readonly callId: string | null;
}

export interface Effect {
  readonly phase: "began" | "ended";
  readonly tool: string;
  /** Arguments of the call: run and place identify exactly one call of one plan. */
  readonly run: string;
  readonly place: string;
  readonly at: number;
}

/** An `allow` or `ask` of the policy. */
export interface Permit {
  readonly runId: string | null;
  /** Canonical name. */
  readonly tool: string;
  readonly argsDigest: string;
  readonly effect: "allow" | "ask";
  /** The provider may answer other arguments of the same principal and tool with it. */
  readonly isForAnyArguments: boolean;
}

/** A promise that was broken. `rule` is one of a closed list; `detail` is for people. */
export interface Violation {
  readonly rule: Rule;
  readonly where: string;
  readonly detail: string;
}

export type Rule =
  | "run-lost"
  | "one-end"
  | "one-result"
  | "invented-result"
  | "executed-twice"
  | "executed-after-result"
  | "unasked-call"
  | "unpermitted-call"
  | "unapproved-call"
  | "approval-used-twice"
  | "events"
  | "child"
  | "left-queued"
  | "left-running"
  | "crashed"
  | "refused"
  | "rejected"
  | "spoiled"
  | "died-of-nothing"
  | "limit-missed"
  | "denied-execution"
  | "wrong-reason"
  | "session-blocked"
  | "session-order"
  | "session-history"
  | "session-events"
  | "message-answer"
  | "job-end";
