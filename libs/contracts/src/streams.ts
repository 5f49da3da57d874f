import { allContracts, isCommand, isEvent } from "./registry.ts";
import { publishedAs } from "./reserved-subjects.ts";
import { beginRun } from "./run-commands.ts";
import { startRun } from "./runs.ts";
import { STREAM_NAMES } from "./stream-names.ts";

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
  /** True: a message with a `Nats-Schedule` header is kept until its time. */
  readonly schedules?: boolean;
  /** True: many messages can be stored in one go and in their order, without an answer to each. */
  readonly takesBatches?: boolean;
  /**
   * True: with one copy it is acknowledged before it is written, so the last messages are gone when the server dies. For what can
   * be made again. A stream keeps what it was created with.
   */
  readonly writesBehind?: boolean;
  /** True: nobody can delete from it, and it is compressed, because it is kept for long. */
  readonly isAppendOnly?: boolean;
  readonly sources?: readonly StreamSource[];
  /**
   * What messages under the subjects of events are renamed to. None are published here, but whoever reads events can have the
   * server answer into any stream (`decisions/018`): so a worker gets and refuses them, and they do not lie there.
   */
  readonly strays?: string;
  /** What its messages are stored under, when that differs from where they are published. */
  readonly storedAs?: string;
}

/** Takes over the messages of another stream below `from`, renamed to `to`: of all subjects when that is `>`. */
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
  /** How long a silent worker keeps a message: the time to detect a crash, not the length of the work. */
  readonly ackWaitMs: number;
  /** True when clients send what it delivers. */
  readonly takesFromClients?: boolean;
  /** What takes turns while more waits than there are free workers; without it, first in is first out. */
  readonly lanes?: Lanes;
}

/** Names of commands, each in one of the two. */
export interface Lanes {
  /** Each caller's messages are a lane of their own. */
  readonly perCaller: readonly string[];
  /** Those of all callers are one lane. */
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
/** The noun of events that are not events for everybody. */
const AUDIT = "audit";
const AUDIT_SUBJECTS = `yard.evt.${AUDIT}.>`;

/**
 * Commands that are to come later. Whoever may publish a scheduled message names the subject that it
 * is stored under when its time comes, and the server checks nothing there. So this stream is one
 * that no client publishes to; see `decisions/013-timers.md`.
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
  // The server wants it so. Who sets a timer has the time in its own store, too.
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
  // Message ids are everybody's here: with a window, one user could have the command of another dropped, by sending its
  // id at the same time. A repeated command is known by its run's id, which has an owner.
  duplicateWindowMs: 0,
  discard: "new",
  sources: [{ stream: timerStream.name, from: "yard.timer.due.>", to: "yard.cmd.>" }],
  strays: "yard.cmd.runner.run.>",
};

/** Every event but the audit's, as readers of the event stream ask for them. */
export const eventSubjects: readonly string[] = eventNouns().map((noun) => `yard.evt.${noun}.>`);

/** Runners can make these again: of the events that stand in no journal they keep a copy for as long as nats-server may lose them. */
const OF_RUNS = "yard.evt.run.>";
/** For how long a publish of an event may be repeated. */
const EVENT_WINDOW_MS = 2 * MINUTE;
const EVENT_BYTES = 1 * MIB;

/**
 * The way into the event stream for what nobody could tell again: written before it is acknowledged. Nobody reads here.
 * The server takes over what comes, also what the event stream lost when the server died.
 */
export const factStream: StreamDefinition = {
  name: STREAM_NAMES.facts,
  description: "Events but those of runs, on their way into the event stream",
  subjects: eventSubjects.filter((subject) => subject !== OF_RUNS),
  retention: "limits",
  maxAgeMs: 1 * DAY,
  maxBytes: 256 * MIB,
  // The server adds a header to what it takes over. One message that did not fit with it would hold up all behind it.
  maxMessageBytes: EVENT_BYTES - 4 * KIB,
  duplicateWindowMs: EVENT_WINDOW_MS,
  discard: "old",
};

/** What anybody reads: all events. Directly it takes those of runs, which the runners publish again when they are lost. */
export const eventStream: StreamDefinition = {
  name: STREAM_NAMES.events,
  description: "Facts, in the order they happened",
  subjects: eventSubjects.filter((subject) => subject === OF_RUNS),
  retention: "limits",
  maxAgeMs: 30 * DAY,
  maxBytes: 4 * GIB,
  maxMessageBytes: EVENT_BYTES,
  duplicateWindowMs: EVENT_WINDOW_MS,
  discard: "old",
  takesBatches: true,
  writesBehind: true,
  sources: [{ stream: factStream.name, from: ">", to: ">" }],
};

/**
 * Who decided what, for long. A stream that is full refuses, and then nothing happens that would have
 * to be told here; nothing can be deleted from it before its time, not by the admin either.
 */
export const auditStream: StreamDefinition = {
  name: STREAM_NAMES.audit,
  description: "Decisions, approvals and executions, chained",
  // What is stored for 400 days and never deleted must not be filled with answers that a client has the server send.
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

/** What begins a run that nobody waits for in another one. */
const STARTS: readonly string[] = [startRun.name, beginRun.name];

/** The runners' work queue. KEDA scales the runners by its lag. */
export const runCommands: ConsumerDefinition = {
  stream: commandStream.name,
  name: "agent-runner",
  description: "Run commands, shared by all runner replicas",
  filterSubject: "yard.cmd.*.run.>",
  ackWaitMs: 8_000,
  takesFromClients: true,
  // What one caller starts waits behind none of what another one starts, and what is said about runs behind neither.
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
