import { readFile } from "node:fs/promises";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import type { Approval } from "@switchyard/contracts/approval-record";
import { listApprovals } from "@switchyard/contracts/approvals";
import { auditDecision } from "@switchyard/contracts/audit";
import { auditStream, eventStream } from "@switchyard/contracts/streams";
import type { Redis } from "@switchyard/service/redis";
import { connect, consumerOpts, type JsMsg, type NatsConnection } from "nats";
import type { AskedCall, Effect, EventFact, JournalFact, Permit, RunEvidence } from "./evidence.ts";

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

/** What the MCP servers' calls have written, and the processes that they were. */
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
  /** By run. */
  events: Map<string, EventFact[]>;
  permits: Permit[];
}> {
  const connection = await connect({ servers: url, name: "checker" });
  try {
    const messages = await readAll(connection, eventStream.name);
    const ofRuns = messages.flatMap((message) => {
      const [, , noun, runId = "", name = ""] = message.subject.split(".");
      if (noun !== "run") return [];
      const { seq, callId } = message.json<{ seq: number; callId?: string }>();
      return [{ runId, name, seq, callId: callId ?? null }];
    });
    const audit = await readAll(connection, auditStream.name);
    return { events: Map.groupBy(ofRuns, ({ runId }) => runId), permits: audit.flatMap(permitsIn) };
  } finally {
    await connection.close();
  }
}

async function readAll(connection: NatsConnection, stream: string): Promise<JsMsg[]> {
  const manager = await connection.jetstreamManager();
  const { state, config } = await manager.streams.info(stream);
  const found: JsMsg[] = [];
  if (state.messages === 0) return found;
  const options = consumerOpts();
  options.orderedConsumer();
  options.deliverAll();
  options.bindStream(stream);
  const [filter = ">"] = config.subjects.length === 1 ? config.subjects : [">"];
  const subscription = await connection.jetstream().subscribe(filter, options);
  for await (const message of subscription) {
    found.push(message);
    if (message.seq >= state.last_seq) break;
  }
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
}

/** An entry as it lies in Redis. Long texts lie elsewhere; none that is looked at here is long. */
function factOf(text: string): JournalFact {
  const entry = JSON.parse(text) as RawEntry; // what the README of the runner says an entry is
  const { kind, callId, step, content, onUnknownOutcome, childRunId, status } = entry;
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
  };
}
