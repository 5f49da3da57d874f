import type { Approval } from "@switchyard/contracts/approval-record";

/** What is left behind when a round is over, as plain data: nothing in here was computed by a runner. */
export interface Evidence {
  /** Runs whose command the queue has acknowledged. */
  readonly accepted: readonly string[];
  /** Every run that Redis knows, also those that runs have started. */
  readonly runs: readonly RunEvidence[];
  /** Lines of the book that the MCP server's calls write, in the order of the file. */
  readonly effects: readonly Effect[];
  readonly approvals: readonly Approval[];
  /** What the policy let pass, from its audit. */
  readonly permits: readonly Permit[];
  /** Processes of the round that still run after everything was stopped. */
  readonly leftOver: readonly { readonly pid: number; readonly name: string }[];
  /** Services that ended although nobody had ended them. */
  readonly crashes: readonly string[];
  /** Subjects of the commands that were still in the queue when the time for them was over. */
  readonly queued: readonly string[];
  /** What a service asked of Redis or NATS and may not. */
  readonly refusals: readonly string[];
  /** Commands that were refused, although every one of the round is good. */
  readonly rejections: readonly Rejected[];
  readonly sessions: readonly SessionEvidence[];
  readonly messages: readonly MessageEvidence[];
  readonly jobs: readonly JobEvidence[];
  /** What was done to processes that may be taken for their death. */
  readonly absences: readonly Absence[];
}

/** What people wrote in one conversation of a channel, and what they read there. */
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

/** A session as it lies in Redis, and what its events tell. */
export interface SessionEvidence {
  readonly sessionId: string;
  /** The run that may be under way, and those that wait for their turn. */
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
  /** As the run's own hash in Redis says. */
  readonly status: string;
  readonly journal: readonly JournalFact[];
  /** In the order of the stream. */
  readonly events: readonly EventFact[];
}

/** One entry of a journal; only what the checker looks at. */
export interface JournalFact {
  readonly kind: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly callId?: string;
  readonly step?: number;
  /** `allow` when the provider said that the call was allowed. */
  readonly effect?: string;
  /** Of an answer: the calls that it asks for. */
  readonly calls?: readonly AskedCall[];
  /** Of the start and the end of a run that works for this one. */
  readonly childRunId?: string;
  /** Of such an end: how it was told. */
  readonly status?: string;
  /** Of the first entry: a second execution is allowed when the outcome of the first was unknown. */
  readonly onUnknownOutcome?: string;
  /** Of the first entry: the session that the run belongs to, and the time that it has. */
  readonly sessionId?: string;
  readonly timeoutMs?: number;
  /** Of a failed call, and of a run that failed or is dead. */
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
  /** What the call was given: run and place name exactly one call of one plan. */
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
