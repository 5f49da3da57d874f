import type { StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { RunWait, type RunQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import type { Redis } from "@switchyard/service/redis";
import { clusterOf } from "@switchyard/service/redis-cluster";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import { takeLock } from "@switchyard/service/redis-lease";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { pairsOf } from "./by-time.ts";
import { defineScripts } from "./redis-scripts.ts";
import { keptKey } from "./run-storage.ts";
import { readColumns } from "./run-columns.ts";
import { FACTS, factsIn, KEPT, type RunFacts } from "../core/due.ts";

/**
 * The released runs, ended runs whose last events are being published, and commands stored until they can become a run, by the
 * time of the next check. The list is in another hash slot than the runs, so it is written before a run is released, and the
 * sweeper cleans it up.
 */
export interface ParkedRuns {
  /** Sets the time of the next check, in milliseconds since the Unix epoch. */
  lookAgain(runId: string, atMs: number): Promise<void>;
  /** Does the same for runs that were due at a time, unless another time was set since. */
  postpone(looks: readonly NextLook[], dueMs: number): Promise<void>;
  forget(runIds: readonly string[]): Promise<void>;
  /** Removes runs from the list, unless another time was set for them since. */
  strike(looks: readonly NextLook[]): Promise<void>;
  /** Returns the runs to check now, with the facts about each. */
  due(nowMs: number, limit: number): Promise<DueRun[]>;
  /** Lists the questions of runs that wait now; of some requesters' runs, or of all. */
  questions(
    page: { readonly limit: number; readonly cursor?: string | undefined },
    requesters?: readonly string[],
  ): Promise<QuestionPage>;
  /** All runs that wait for the end of a stop. */
  stopped(): Promise<StoppedRun[]>;
  /** True for the one runner that sweeps for the next `holdMs`. */
  takeSweep(runner: string, holdMs: number): Promise<boolean>;
}

/** A call of a run that waits for a person. */
export interface ParkedApproval {
  readonly runId: string;
  readonly callId: string;
  readonly approvalId: string;
}

/** A run that waits for the end of a stop. */
export interface StoppedRun {
  readonly runId: string;
  readonly scope: StopScope;
}

export interface NextLook {
  readonly runId: string;
  readonly atMs: number;
}

export interface DueRun {
  readonly runId: string;
  /** Null when it has expired. */
  readonly facts: RunFacts | null;
  /** Calls that wait for a person. */
  readonly approvals: readonly ParkedApproval[];
  /** The stop whose end it waits for. */
  readonly stop: StopScope | null;
}

export type ParkedQuestion = RunQuestion & { requester: string; agent: string };

export interface QuestionPage {
  /** Sorted by the time of the next check of their runs, which is mostly when their time ends. */
  readonly questions: ParkedQuestion[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

const KEPT_PREFIX = "kept ";

/** Returns the member of a stored command in the list, distinct from that of a run with the same id. */
export function keptMember(runId: string): string {
  return `${KEPT_PREFIX}${runId}`;
}

/** The run that a member of the list is of. */
export function runOf(member: string): string {
  return member.startsWith(KEPT_PREFIX) ? member.slice(KEPT_PREFIX.length) : member;
}

const PARKED_KEY = "yard:runs:parked";
const QUESTION_COLUMNS = ["status", "waits", "requester", "agent"];
const SWEEPER_KEY = "yard:runs:sweeper";
const PAGE = 200;
/** Sorts after everything that the names of a run's calls append to the run's. */
const BEHIND_RUN = ":~";
/** A search for questions ends after so many runs; the cursor continues it. */
const MAX_SCANNED = 10_000;

/** KEYS parked · ARGV due, run and time of the next check… */
const POSTPONE = `${ESSENTIAL}
for i = 2, #ARGV, 2 do
  local due = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if due and tonumber(due) <= tonumber(ARGV[1]) then redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i]) end
end
return {}
`;

/** KEYS parked · ARGV run and time of the next check… */
const STRIKE = `
for i = 1, #ARGV, 2 do
  local due = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if due and tonumber(due) == tonumber(ARGV[i + 1]) then redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return {}
`;

/** Longer than a primary that is cut off takes writes, with Redis' default for `cluster-node-timeout`. */
const REPEAT_MS = 20_000;

export function openParkedRuns(redis: Redis, { repeatMs = REPEAT_MS } = {}): ParkedRuns {
  const setAgain = clusterOf(redis) === null ? null : repeatedLooks(redis, repeatMs);
  const run = defineScripts(redis, { yardRunsPostpone: POSTPONE, yardRunsStrike: STRIKE });
  return {
    async lookAgain(runId, atMs) {
      await essentialWrite(redis, ["zadd", PARKED_KEY, atMs, runId]);
      setAgain?.(runId, atMs);
    },

    async postpone(looks, dueMs) {
      const args = looks.flatMap(({ runId, atMs }) => [runId, atMs]);
      if (args.length > 0) await run("yardRunsPostpone", [PARKED_KEY], [dueMs, ...args]);
    },

    async forget(runIds) {
      if (runIds.length > 0) await fromRedis(redis.zrem(PARKED_KEY, ...runIds));
    },

    async strike(looks) {
      const args = looks.flatMap(({ runId, atMs }) => [runId, atMs]);
      if (args.length > 0) await run("yardRunsStrike", [PARKED_KEY], args);
    },

    async due(nowMs, limit) {
      const ids = await fromRedis(
        redis.zrangebyscore(PARKED_KEY, "-inf", String(nowMs), "LIMIT", "0", String(limit)),
      );
      return Promise.all(
        ids.map(async (runId) => {
          const ofCommand = runOf(runId);
          if (ofCommand !== runId) {
            const isKept = (await fromRedis(redis.exists(keptKey(ofCommand)))) === 1;
            return { runId, facts: isKept ? KEPT : null, approvals: [], stop: null };
          }
          const [waits = null, ...read] = await readColumns(redis, runId, ["waits", ...FACTS]);
          const facts = factsIn(read);
          return { runId, facts, approvals: approvalsOf(runId, waits), stop: stopIn(waits) };
        }),
      );
    },

    async questions({ limit, cursor }, requesters) {
      const [, score = "-inf", after = ""] = /^(\d+):(.+)$/.exec(cursor ?? "") ?? [];
      const questions: ParkedQuestion[] = [];
      let next: string | null = null;
      for (let from = 0; from < MAX_SCANNED; from += PAGE) {
        const rows = pairsOf(
          await fromRedis(
            redis.zrange(PARKED_KEY, score, "+inf", "BYSCORE", "LIMIT", from, PAGE, "WITHSCORES"),
          ),
        );
        const read = await Promise.all(
          rows.map(async (row) => ({
            ...row,
            values: await readColumns(redis, row.member, QUESTION_COLUMNS),
          })),
        );
        for (const { member: runId, score: at, values } of read) {
          if (requesters !== undefined && !requesters.includes(values[2] ?? "")) continue;
          for (const question of questionsOf(runId, values)) {
            if (at === score && isBefore(question, after)) continue;
            if (questions.length === limit) return { questions, next };
            questions.push(question);
            next = `${at}:${question.callId}`;
          }
        }
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE) return { questions, next: null };
        next = `${last.score}:${last.member}${BEHIND_RUN}`;
      }
      return { questions, next };
    },

    stopped: () => stoppedRuns(redis),

    takeSweep: (holder, forMs) => takeLock(redis, SWEEPER_KEY, { holder, forMs }),
  };
}

/**
 * In a cluster the list is on another primary than most runs, and one that dies loses its last writes: then a run waits that no
 * sweep would check. So each time is set once more some seconds later, where none is set. The sweep that finds a run that no
 * longer waits removes it.
 */
function repeatedLooks(redis: Redis, everyMs: number): (runId: string, atMs: number) => void {
  let [fresh, older] = [new Map<string, number>(), new Map<string, number>()];
  let timer: NodeJS.Timeout | null = null;
  const turn = async (): Promise<void> => {
    const due = [...older].flatMap(([runId, atMs]) => [atMs, runId]);
    if (due.length > 0) await essentialWrite(redis, ["zadd", PARKED_KEY, "NX", ...due]);
    [older, fresh] = [fresh, new Map()];
  };
  const later = (): void => {
    timer ??= setTimeout(() => {
      turn()
        .catch(() => undefined) // Redis is away; the entry is sent again with the next ones
        .finally(() => {
          timer = null;
          if (fresh.size + older.size > 0) later();
        });
    }, everyMs).unref();
  };
  return (runId, atMs) => {
    fresh.set(runId, atMs);
    later();
  };
}

/** Reads the whole list, a page at a time; for the moment when a stop is lifted. */
async function stoppedRuns(redis: Redis): Promise<StoppedRun[]> {
  const found: StoppedRun[] = [];
  for (let from = 0; ; from += PAGE) {
    const ids = await fromRedis(redis.zrange(PARKED_KEY, String(from), String(from + PAGE - 1)));
    const read = await Promise.all(
      ids.map(async (runId) => {
        const [status, waits = null] = await readColumns(redis, runId, ["status", "waits"]);
        const scope = status === "waiting" ? stopIn(waits) : null;
        return scope === null ? [] : [{ runId, scope }];
      }),
    );
    found.push(...read.flat());
    if (ids.length < PAGE) return found;
  }
}

function approvalsOf(runId: string, waits: string | null): ParkedApproval[] {
  return waitsIn(waits).flatMap(({ reason, callId, approvalId }) =>
    reason === "approval" && approvalId !== undefined ? [{ runId, callId, approvalId }] : [],
  );
}

function stopIn(waits: string | null): StopScope | null {
  return waitsIn(waits).find(({ reason }) => reason === "stopped")?.stop?.scope ?? null;
}

/** Returns whether a question was on the pages before: rows of one time are in the order of their runs' names. */
function isBefore({ runId, callId }: ParkedQuestion, after: string): boolean {
  const [afterRun = ""] = after.split(":");
  return runId === afterRun ? callId <= after : runId < afterRun;
}

/** Returns the waits in a run's summary. */
function waitsIn(text: string | null): RunWait[] {
  return text ? z.array(RunWait).parse(JSON.parse(text)) : [];
}

function questionsOf(runId: string, values: (string | null)[]): ParkedQuestion[] {
  const [status, waits, requester, agent] = values;
  if (status !== "waiting" || !waits || !requester || !agent) return [];
  const inOrder = waitsIn(waits).toSorted((one, other) => (one.callId < other.callId ? -1 : 1));
  return inOrder.flatMap(({ reason, callId, question, options = [], schema, until }) => {
    if (reason !== "question" || question === undefined || until === null) return [];
    const open = { runId, callId, question, options, until, requester, agent };
    return [schema === undefined ? open : { ...open, schema }];
  });
}
