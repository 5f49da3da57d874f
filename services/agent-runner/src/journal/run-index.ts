import type { DeadRun, RunDetail, RunStatus, RunSummary } from "@switchyard/contracts/runs";
import type { Redis } from "@switchyard/service/redis";
import { essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { replay } from "../core/replay.ts";
import { newestFirst } from "./newest-first.ts";
import { stateKey } from "./run-keys.ts";
import { KEEP_SECONDS, type RunStore } from "./run-store.ts";
import { detailOf, readDead, readSummary } from "../core/run-summary.ts";

/**
 * The list of runs by age. It is in another hash slot than the runs, so it is written after a run's own keys and may miss one for
 * a moment; a reader that finds such a run adds it again.
 */
export interface RunIndex {
  /** Adds a run; repeating it changes nothing. */
  add(runId: string, createdAt: string): Promise<void>;
  /** Adds a run whose id has no owner to the list of its requester. */
  adopt(runId: string, run: { requester: string; createdAt: string }): Promise<void>;
  list(filter: RunFilter): Promise<RunPage>;
  /** Removes expired runs from the list; checks ten candidates at a time, the next ones each time. */
  trim(): Promise<void>;
  /** Notes that a run was given up. */
  addDead(runId: string, at: string): Promise<void>;
  /** Lists the runs that were given up and not retried since, latest first, after a cursor: of one owner, or of all. */
  dead(cursor: string | null, owner?: string): Promise<DeadRows>;
  /** Null when there is no such run. */
  get(runId: string): Promise<RunDetail | null>;
}

export interface RunFilter {
  limit: number;
  /** The owner of the runs; left out: all owners. */
  owner?: string | undefined;
  agent?: string | undefined;
  status?: RunStatus | undefined;
  /** Labels that the runs have, as `key=value`, or `key` for any value. */
  labels?: readonly string[] | undefined;
  /** `next` of the page before. */
  cursor?: string | undefined;
}

export interface RunPage {
  readonly runs: RunSummary[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

export interface DeadRows {
  readonly rows: readonly { readonly cursor: string; readonly run: DeadRun }[];
  /** The cursor at which the search ended; null: there are no more. */
  readonly next: string | null;
}

/** A filter that matches little stops after so many runs; the cursor continues the search. */
const MAX_SCANNED = 5_000;
const PAGE = 100;
const TRIMMED_AT_ONCE = 10;
const INDEX_KEY = "yard:runs";
/** Beside the runs, like the list of all of them; the truth is each run's own status. */
const DEAD_KEY = "yard:runs:dead";
const MAX_DEAD_SCANNED = 1_000;

/** `keepSeconds` is how long a run is stored after its end. */
export function openRunIndex(
  redis: Redis,
  store: RunStore,
  { keepSeconds = KEEP_SECONDS, now = Date.now }: { keepSeconds?: number; now?: () => number } = {},
): RunIndex {
  const add = async (runId: string, createdAt: string): Promise<void> => {
    const owner = ownerOfRun(runId);
    const at = Date.parse(createdAt);
    await Promise.all([
      essentialWrite(redis, ["zadd", INDEX_KEY, "NX", at, runId]),
      owner === null ? null : essentialWrite(redis, ["zadd", ownerKey(owner), "NX", at, runId]),
    ]);
  };
  /** Number of old runs that still exist, such as waiting ones, and that the last checks skipped. */
  let passed = 0;
  return {
    add,

    async adopt(runId, { requester, createdAt }) {
      await fromRedis(redis.zadd(ownerKey(requester), "NX", Date.parse(createdAt), runId));
    },

    async trim() {
      const madeBefore = now() - keepSeconds * 1_000;
      const old = await fromRedis(
        redis.zrangebyscore(INDEX_KEY, "-inf", madeBefore, "LIMIT", passed, TRIMMED_AT_ONCE),
      );
      const kept = await Promise.all(old.map((runId) => fromRedis(redis.exists(stateKey(runId)))));
      const gone = old.filter((_, index) => kept[index] === 0);
      if (gone.length > 0) await fromRedis(redis.zrem(INDEX_KEY, ...gone));
      for (const runId of gone) {
        const owner = ownerOfRun(runId);
        if (owner !== null) await fromRedis(redis.zrem(ownerKey(owner), runId));
      }
      passed = old.length < TRIMMED_AT_ONCE ? 0 : passed + old.length - gone.length;
    },

    list: (filter) => listRuns(redis, filter),

    async addDead(runId, at) {
      await essentialWrite(redis, ["zadd", DEAD_KEY, Date.parse(at), runId]);
    },

    async dead(cursor, owner) {
      const page = await newestFirst(redis, DEAD_KEY, { cursor, count: MAX_DEAD_SCANNED });
      const found = await Promise.all(
        page.rows.map(async ({ member, cursor: at }) => {
          const run = readDead(member, await fromRedis(redis.hgetall(stateKey(member))));
          return { member, cursor: at, run };
        }),
      );
      const gone = found.filter(({ run }) => run === null).map(({ member }) => member);
      if (gone.length > 0) await fromRedis(redis.zrem(DEAD_KEY, ...gone));
      const rows = found.flatMap(({ cursor: at, run }) =>
        run === null || (owner !== undefined && run.requester !== owner)
          ? []
          : [{ cursor: at, run }],
      );
      return { rows, next: page.isLast ? null : (page.rows.at(-1)?.cursor ?? null) };
    },

    async get(runId) {
      const entries = await store.load(runId);
      if (entries.length === 0) return null;
      const state = replay(entries);
      await add(runId, state.started.at);
      const [attempts, suspended = null] = await fromRedis(
        redis.hmget(stateKey(runId), "attempts", "suspended"),
      );
      return detailOf(state, { attempts: Math.max(1, Number(attempts)), suspended });
    },
  };
}

async function listRuns(
  redis: Redis,
  { limit, owner, cursor, ...wanted }: RunFilter,
): Promise<RunPage> {
  const key = owner === undefined ? INDEX_KEY : ownerKey(owner);
  const runs: RunSummary[] = [];
  let next = cursor ?? null;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    const page = await newestFirst(redis, key, { cursor: next, count: PAGE });
    const summaries = await Promise.all(
      page.rows.map(async ({ member }) =>
        readSummary(member, await fromRedis(redis.hgetall(stateKey(member)))),
      ),
    );
    for (const [index, run] of summaries.entries()) {
      if (run === null || !isWanted(run, wanted)) continue;
      runs.push(run);
      const isEnd = page.isLast && index === page.rows.length - 1;
      if (runs.length === limit)
        return { runs, next: isEnd ? null : (page.rows[index]?.cursor ?? null) };
    }
    if (page.isLast) return { runs, next: null };
    next = page.rows.at(-1)?.cursor ?? next;
  }
  return { runs, next };
}

function isWanted(
  run: RunSummary,
  { agent, status, labels = [] }: Pick<RunFilter, "agent" | "status" | "labels">,
): boolean {
  return (
    (agent === undefined || run.agent === agent) &&
    (status === undefined || run.status === status) &&
    labels.every((label) => hasLabel(run.labels, label))
  );
}

/** A key has no `=`; a value may. */
function hasLabel(labels: RunSummary["labels"], label: string): boolean {
  const at = label.indexOf("=");
  const key = at === -1 ? label : label.slice(0, at);
  if (!Object.hasOwn(labels, key)) return false;
  return at === -1 || labels[key] === label.slice(at + 1);
}

/** The key of one owner's runs by age, so that listing them does not search the runs of all owners. */
function ownerKey(owner: string): string {
  return `yard:runs:of:${owner}`;
}
