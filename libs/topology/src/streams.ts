import { allContracts, isCommand, isEvent } from "@switchyard/contracts/registry";
import { publishedAs } from "@switchyard/contracts/reserved-subjects";
import { beginRun } from "@switchyard/contracts/agent-runner/run-commands";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";

/**
 * The JetStream streams and durable consumers, as data. `libs/bus` creates and checks them;
 * permissions and the Kubernetes manifests are compared with them. Durations are milliseconds.
 */
export interface StreamDefinition {
  readonly name: string;
  readonly description: string;
  readonly subjects: readonly string[];
  readonly retention: "workqueue" | "limits";
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  /** Largest message, in bytes: anything larger goes by claim check. */
  readonly maxMessageBytes: number;
  /** Most messages; without it as many as there is room for. */
  readonly maxMessages?: number;
  /** Window in which a repeated `Nats-Msg-Id` is dropped. 0: none is, which the server allows for a stream with sources only. */
  readonly duplicateWindowMs: number;
  /** `new` makes a full stream refuse a publish, `old` makes it forget its oldest message. */
  readonly discard: "new" | "old";
  /** True: a message with a `Nats-Schedule` header is stored until its time. */
  readonly schedules?: boolean;
  /** True: many messages can be stored in one go and in their order, without an answer to each. */
  readonly takesBatches?: boolean;
  /**
   * True: with one copy it is acknowledged before it is written, so the last messages are gone when the server dies. Meant for messages
   * that can be made again. A stream keeps the mode that it was created with.
   */
  readonly writesBehind?: boolean;
  /** True: no user can delete from it, and it is compressed, because its messages are stored for long. */
  readonly isAppendOnly?: boolean;
  readonly sources?: readonly StreamSource[];
  /**
   * The subject to which stray messages on the subjects of events are renamed. None are published here, but a reader of events can make the
   * server answer into any stream (`decisions/018`): so a worker gets and refuses them, and they do not stay there.
   */
  readonly strays?: string;
  /** The subject under which its messages are stored, when that differs from the published one. */
  readonly storedAs?: string;
}

/** Copies the messages of another stream below `from`, renamed to `to`: of all subjects when that is `>`. */
export interface StreamSource {
  readonly stream: string;
  readonly from: string;
  readonly to: string;
}

export interface ConsumerDefinition {
  readonly stream: string;
  readonly name: string;
  readonly description: string;
  readonly filterSubject: string;
  /** A silent worker keeps a message this long: the time to detect a crash, not the length of the work. */
  readonly ackWaitMs: number;
  /** True when clients send what it delivers. */
  readonly takesFromClients?: boolean;
  /** The lanes that take turns while more messages wait than there are free workers; without it, first in is first out. */
  readonly lanes?: Lanes;
}

/** Names of commands, each in one of the two. */
export interface Lanes {
  /** Commands for which each caller has a lane of its own. */
  readonly perCaller: readonly string[];
  /** Commands for which all callers share one lane. */
  readonly shared: readonly string[];
}

export interface ObjectStoreDefinition {
  readonly bucket: string;
  readonly description: string;
  readonly ttlMs: number;
  readonly maxBytes: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
/** The noun of events that not every reader may read. */
const AUDIT = "audit";
const AUDIT_SUBJECTS = `yard.evt.${AUDIT}.>`;

/**
 * Commands for a later time. A client that may publish a scheduled message names the subject under which it is stored when it is due, and
 * the server checks nothing there. So no client publishes to this stream; see `decisions/013-timers.md`.
 */
export const timerStream: StreamDefinition = {
  name: STREAM_NAMES.timers,
  description: "Commands whose time has not come",
  subjects: ["yard.timer.>"],
  retention: "limits",
  maxAgeMs: 3_650 * DAY,
  maxBytes: 1 * GIB,
  maxMessageBytes: 64 * KIB,
  duplicateWindowMs: 2 * MINUTE,
  // The server requires it. The service that sets a timer has the time in its own store, too.
  discard: "old",
  schedules: true,
};

export const commandStream: StreamDefinition = {
  name: STREAM_NAMES.commands,
  description: "Commands waiting for a worker",
  subjects: commandNouns().map((noun) => `yard.cmd.*.${noun}.>`),
  retention: "workqueue",
  maxAgeMs: 30 * DAY,
  maxBytes: 1 * GIB,
  maxMessageBytes: 1 * MIB,
  // Message ids are shared by all users here: with a window, one user could make another's command count as a duplicate, by sending its id
  // at the same time. A repeated command is recognized by its run's id, which has an owner.
  duplicateWindowMs: 0,
  discard: "new",
  sources: [{ stream: timerStream.name, from: "yard.timer.due.>", to: "yard.cmd.>" }],
  strays: "yard.cmd.runner.run.>",
};

/** Every event but the audit's, in the form in which readers of the event stream request them. */
export const eventSubjects: readonly string[] = eventNouns().map((noun) => `yard.evt.${noun}.>`);

/** Runners can publish these again: they store a copy of the events outside the journals for as long as nats-server may lose them. */
const OF_RUNS = "yard.evt.run.>";
/** The time within which a publish of an event may be repeated. */
const EVENT_WINDOW_MS = 2 * MINUTE;
const EVENT_BYTES = 1 * MIB;

/**
 * The stream through which events reach the event stream when no publisher could repeat them: it writes before it acknowledges. It has no
 * readers. The server copies its messages, also those that the event stream lost when the server died.
 */
export const factStream: StreamDefinition = {
  name: STREAM_NAMES.facts,
  description: "Events but those of runs, on their way into the event stream",
  subjects: eventSubjects.filter((subject) => subject !== OF_RUNS),
  retention: "limits",
  maxAgeMs: 1 * DAY,
  maxBytes: 256 * MIB,
  // The server adds a header to a message that it copies. One message that did not fit with it would block all behind it.
  maxMessageBytes: EVENT_BYTES - 4 * KIB,
  duplicateWindowMs: EVENT_WINDOW_MS,
  discard: "old",
};

/**
 * The stream that all readers use, with all events. Directly it stores those of runs, which the runners publish again when they are lost.
 */
export const eventStream: StreamDefinition = {
  name: STREAM_NAMES.events,
  description: "Facts, in the order they happened",
  subjects: eventSubjects.filter((subject) => subject === OF_RUNS),
  retention: "limits",
  // The events of older runs are read from their journals.
  maxAgeMs: 7 * DAY,
  maxBytes: 4 * GIB,
  maxMessageBytes: EVENT_BYTES,
  duplicateWindowMs: EVENT_WINDOW_MS,
  discard: "old",
  takesBatches: true,
  writesBehind: true,
  sources: [{ stream: factStream.name, from: ">", to: ">" }],
};

/**
 * The decisions and their authors, stored for long. A full stream refuses, and then nothing happens that would have to be recorded here; no
 * user can delete from it before its time, not even the admin.
 */
export const auditStream: StreamDefinition = {
  name: STREAM_NAMES.audit,
  description: "Decisions, approvals and executions, chained",
  // A stream that stores messages for 400 days and never deletes them must not be filled with answers that a client makes the server send.
  subjects: [publishedAs(AUDIT_SUBJECTS)],
  storedAs: AUDIT_SUBJECTS,
  retention: "limits",
  maxAgeMs: 400 * DAY,
  maxBytes: 4 * GIB,
  maxMessageBytes: 1 * MIB,
  duplicateWindowMs: 10 * MINUTE,
  discard: "new",
  isAppendOnly: true,
};

/** Commands that begin a run that no other run waits for. */
const STARTS: readonly string[] = [startRun.name, beginRun.name];

/** The runners' work queue. KEDA scales the runners by its lag. */
export const runCommands: ConsumerDefinition = {
  stream: commandStream.name,
  name: "agent-runner",
  description: "Run commands, shared by all runner replicas",
  filterSubject: "yard.cmd.*.run.>",
  ackWaitMs: 8_000,
  takesFromClients: true,
  // A start of one caller does not wait behind those of another one, and commands about runs wait behind neither.
  lanes: {
    perCaller: STARTS,
    shared: runCommandNames().filter((name) => !STARTS.includes(name)),
  },
};

/** The ends of approvals' times, for the policy service. */
export const approvalCommands: ConsumerDefinition = {
  stream: commandStream.name,
  name: "policy",
  description: "Approvals whose time may be over, shared by all policy replicas",
  filterSubject: "yard.cmd.*.approval.>",
  ackWaitMs: 10_000,
};

export const allStreams: readonly StreamDefinition[] = [
  timerStream,
  commandStream,
  factStream,
  eventStream,
  auditStream,
];
export const allConsumers: readonly ConsumerDefinition[] = [runCommands, approvalCommands];

function runCommandNames(): string[] {
  const names = allContracts.filter(isCommand).map(({ name }) => name);
  return names.filter((name) => name.startsWith("run.")).toSorted();
}

function commandNouns(): string[] {
  return [...new Set(allContracts.filter(isCommand).map(nounOf))].toSorted();
}

function eventNouns(): string[] {
  const nouns = allContracts.filter(isEvent).map(nounOf);
  return [...new Set(nouns)].filter((noun) => noun !== AUDIT).toSorted();
}

function nounOf({ name }: { readonly name: string }): string {
  return name.split(".")[0] ?? "";
}
