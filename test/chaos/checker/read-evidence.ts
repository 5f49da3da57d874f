import { readFile } from "node:fs/promises";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { auditDecision } from "@switchyard/contracts/policy/audit";
import { auditStream, commandStream, eventStream } from "@switchyard/topology/streams";
import type { Redis } from "@switchyard/service/redis";
import { connect, consumerOpts, type JsMsg, type NatsConnection } from "nats";
import type {
  AskedCall,
  Effect,
  EventFact,
  JournalFact,
  Permit,
  Rejected,
  RunEvidence,
  SessionEventFact,
  SessionEvidence,
} from "./evidence.ts";

/** Reads every approval that there is, as the policy service shows them. */
export async function readApprovals(bus: Bus): Promise<Approval[]> {
  const policy = client(bus, { listApprovals });
  const found: Approval[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const from = cursor === "" ? {} : { cursor };
    const page = await policy.listApprovals({ pendingOnly: false, limit: 500, ...from });
    found.push(...page.approvals);
    cursor = page.next;
  }
  return found;
}

/** The marks of the MCP servers' calls, and the server processes. */
export async function readBook(file: string): Promise<{ effects: Effect[]; pids: number[] }> {
  const text = await readFile(file, "utf8").catch(() => "");
  // Lines of our own fixture, each written at once.
  const lines = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { phase: string; pid: number });
  return {
    effects: lines.filter((line) => line.phase !== "started") as unknown as Effect[],
    pids: lines.filter((line) => line.phase === "started").map(({ pid }) => pid),
  };
}

/** Reads the streams with a client that is not ours. */
export async function readStreams(url: string): Promise<{
  /** Events by run. */
  events: Map<string, EventFact[]>;
  rejections: Rejected[];
  /** Events by session. */
  sessionEvents: Map<string, SessionEventFact[]>;
  permits: Permit[];
  /** Subjects. */
  queued: string[];
}> {
  const connection = await connect({ servers: url, name: "checker" });
  try {
    const messages = await readAll(connection, eventStream.name);
    const facts = messages.map((message) => {
      const [, , noun = "", owner = "", last = "", name = ""] = message.subject.split(".");
      const id = noun === "run" ? `${owner}~${last}` : last;
      return { noun, id, name, payload: message.json<EventPayload>() };
    });
    const ofRuns = facts.filter(({ noun }) => noun === "run");
    const ofSessions = facts.filter(({ noun }) => noun === "session");
    // Events about a command that is not a run yet have no number.
    const numbered = ofRuns.flatMap(({ id, name, payload: { seq, callId = null } }) =>
      seq === undefined ? [] : [{ runId: id, name, seq, callId }],
    );
    const rejections = ofRuns.flatMap(({ id, name, payload: { code = "", message = "" } }) =>
      name === "rejected" ? [{ runId: id, code, message }] : [],
    );
    const reported = ofSessions.map(({ id, name, payload: { seq = 0, runId = null } }) => ({
      sessionId: id,
      name,
      seq,
      runId,
    }));
    const audit = await readAll(connection, auditStream.name);
    return {
      events: Map.groupBy(numbered, ({ runId }) => runId),
      rejections,
      sessionEvents: Map.groupBy(reported, ({ sessionId }) => sessionId),
      permits: audit.flatMap(permitsIn),
      queued: await subjectsIn(connection, commandStream.name),
    };
  } finally {
    await connection.close();
  }
}

/** Members of run and session events that the checker reads. */
interface EventPayload {
  readonly seq?: number;
  readonly callId?: string;
  readonly runId?: string;
  readonly code?: string;
  readonly message?: string;
}

/**
 * Subjects of messages that a work queue still has to deliver. A message that was acknowledged while the disk was full stays in the
 * stream and is never redelivered: only its consumers have that state.
 */
async function subjectsIn(connection: NatsConnection, stream: string): Promise<string[]> {
  const manager = await connection.jetstreamManager();
  const consumers = await manager.consumers.list(stream).next();
  if (consumers.every((one) => one.num_pending + one.num_ack_pending === 0)) return [];
  const { first_seq: first, last_seq: last } = (await manager.streams.info(stream)).state;
  const found: string[] = [];
  for (let seq = first; seq <= last; seq += 1) {
    const message = await manager.streams.getMessage(stream, { seq }).catch(() => null); // done, so gone
    if (message !== null) found.push(message.subject);
  }
  return found;
}

const READ_MS = 60_000;

async function readAll(connection: NatsConnection, stream: string): Promise<JsMsg[]> {
  const manager = await connection.jetstreamManager();
  const { state } = await manager.streams.info(stream);
  const found: JsMsg[] = [];
  if (state.messages === 0) return found;
  const options = consumerOpts();
  options.orderedConsumer();
  options.deliverAll();
  options.bindStream(stream);
  // Not the stream's own subjects: a stream may store a message under another subject than it arrived on.
  const subscription = await connection.jetstream().subscribe(">", options);
  const late = setTimeout(() => subscription.unsubscribe(), READ_MS);
  for await (const message of subscription) {
    found.push(message);
    if (message.seq >= state.last_seq) break;
  }
  clearTimeout(late);
  const last = found.at(-1)?.seq ?? 0;
  if (last < state.last_seq)
    throw new Error(`${stream} gave messages up to ${last} of ${state.last_seq} in ${READ_MS} ms`);
  return found;
}

function permitsIn(message: JsMsg): Permit[] {
  if (!message.subject.endsWith(".decision")) return [];
  const block = auditDecision.payload.parse(message.json());
  return block.records.flatMap((record) => {
    if (record.kind !== "decision" || record.decision.effect === "deny") return [];
    const { principal, tool, argsDigest, decision, keptForMs } = record;
    return [
      {
        runId: principal.runId,
        tool: tool.name,
        argsDigest,
        effect: decision.effect as "allow" | "ask", // the third is excluded above
        isForAnyArguments: keptForMs !== undefined,
      },
    ];
  });
}

/** Reads every run that Redis has. */
export async function readRuns(
  redis: Redis,
  events: ReadonlyMap<string, readonly EventFact[]>,
): Promise<RunEvidence[]> {
  const found: RunEvidence[] = [];
  for await (const keys of redis.scanStream({ match: "yard:run:{*}:journal", count: 1_000 })) {
    // ioredis' stream gives lists of keys.
    for (const key of keys as string[]) {
      const runId = /\{(.*)\}/.exec(key)?.[1] ?? "";
      const status = await redis.hget(`yard:run:{${runId}}:state`, "status");
      const journal = (await redis.lrange(key, 0, -1)).map(factOf);
      found.push({ runId, status: status ?? "", journal, events: events.get(runId) ?? [] });
    }
  }
  return found;
}

/** Reads every session that Redis has. */
export async function readSessions(
  redis: Redis,
  events: ReadonlyMap<string, readonly SessionEventFact[]>,
): Promise<SessionEvidence[]> {
  const found: SessionEvidence[] = [];
  for await (const keys of redis.scanStream({ match: "yard:session:{*}:state", count: 1_000 })) {
    // ioredis' stream gives lists of keys.
    for (const key of keys as string[]) {
      const text = (await redis.hget(key, "record")) ?? "{}";
      const { session } = JSON.parse(text) as RawSession; // the format in `session-record.ts` of the runner
      if (!session) continue;
      const { sessionId, active, queue } = session;
      const lines = await redis.lrange(key.replace(/state$/, "history"), 0, -1);
      const said = lines.flatMap((line) => {
        const { role, runId } = JSON.parse(line) as { role: string; runId: string };
        return role === "user" ? [runId] : [];
      });
      found.push({
        sessionId,
        active: active?.runId ?? null,
        queue: queue.map(({ runId }) => runId),
        said,
        events: events.get(sessionId) ?? [],
      });
    }
  }
  return found;
}

interface RawSession {
  readonly session?: {
    readonly sessionId: string;
    readonly active: { readonly runId: string } | null;
    readonly queue: readonly { readonly runId: string }[];
  } | null;
}

interface RawEntry {
  readonly kind: string;
  readonly at: string;
  readonly callId?: string;
  readonly step?: number;
  readonly decision?: { readonly effect: string } | null;
  readonly content?: readonly (AskedCall & { readonly type: string })[];
  readonly onUnknownOutcome?: string;
  readonly childRunId?: string;
  readonly status?: string;
  readonly session?: { readonly sessionId: string };
  readonly limits?: { readonly timeoutMs?: number };
  readonly code?: string;
  readonly failure?: { readonly code: string };
}

/** An entry as stored in Redis. Long texts are stored elsewhere; none that is read here is long. */
function factOf(text: string): JournalFact {
  const entry = JSON.parse(text) as RawEntry; // the format in the runner's README
  const { kind, callId, step, content, onUnknownOutcome, childRunId, status } = entry;
  const sessionId = entry.session?.sessionId;
  const timeoutMs = entry.limits?.timeoutMs;
  const code = entry.code ?? entry.failure?.code;
  const calls = content?.flatMap((part) => (part.type === "tool-call" ? [part] : []));
  return {
    kind,
    at: Date.parse(entry.at),
    ...(callId === undefined ? {} : { callId }),
    ...(step === undefined ? {} : { step }),
    ...(entry.decision ? { effect: entry.decision.effect } : {}),
    ...(calls === undefined ? {} : { calls }),
    ...(onUnknownOutcome === undefined ? {} : { onUnknownOutcome }),
    ...(childRunId === undefined ? {} : { childRunId }),
    ...(status === undefined ? {} : { status }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(code === undefined ? {} : { code }),
  };
}
