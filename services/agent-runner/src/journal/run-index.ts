import type { RunTotals } from "@switchyard/contracts/agent-runner/run-totals";
import type {
  DeadRun,
  RunDetail,
  RunOrder,
  RunSummary,
} from "@switchyard/contracts/agent-runner/runs";
import type { Redis } from "@switchyard/service/redis";
import { essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { replay } from "../core/replay.ts";
import { durationMs, rowFilter, type RowFilter, type RunRow } from "../core/run-row.ts";
import { totalRows } from "../core/total-rows.ts";
import { byTime } from "./by-time.ts";
import { readColumns, readState } from "./run-columns.ts";
import { stateKey } from "./run-keys.ts";
import { MAX_SEARCHED, openRunRows, RETRIED_KEY, type RunRows } from "./run-rows.ts";
import { KEEP_SECONDS, type RunStore } from "./run-store.ts";
import { detailOf, readDead, readSummary } from "../core/run-summary.ts";

/**
 * The list of runs by age. It is in another hash slot than the runs, so it is written after a run's own keys and may miss one for
 * a moment; a reader that finds such a run adds it again.
 */
export interface RunIndex {
  /** Adds a run; repeating it changes nothing. */
  add(runId: string, createdAt: string): Promise<void>;
  /** Removes a run that was deleted. */
  remove(runId: string, run: { readonly requester: string }): Promise<void>;
  list(filter: RunFilter): Promise<RunPage>;
  /** Counts the runs that began in a range, and those that are under way now. */
  totals(filter: RowFilter & { owner?: string | undefined } & TimeRange): Promise<RunTotals>;
  /** Removes expired runs from the list; checks ten candidates at a time, the next ones each time. */
  trim(): Promise<void>;
  /** Notes that a run was given up. */
  addDead(runId: string, at: string): Promise<void>;
  /** Lists the runs that were given up and not retried since, latest first, after a cursor: of one owner, or of all. */
  dead(cursor: string | null, owner?: string): Promise<DeadRows>;
  /** Null when there is no such run. */
  get(runId: string): Promise<RunDetail | null>;
}

export interface RunFilter extends RowFilter {
  limit: number;
  /** The owner of the runs; left out: all owners. */
  owner?: string | undefined;
  /** Whole ids; left out: all runs. */
  ids?: readonly string[] | undefined;
  /** Left out: newest first. */
  sort?: RunOrder | undefined;
  /** `next` of the page before. */
  cursor?: string | undefined;
}

/** The times between which runs began, in milliseconds since 1970; `toMs` is not part of it. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RunPage {
  readonly runs: RunSummary[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The begin of the oldest run that was looked at, where older ones were not. */
  readonly searchedFrom?: string | null;
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
/** Millionths of a dollar in one: a cursor has whole numbers. */
const MICRO = 1_000_000;
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
  const runRows = openRunRows(redis, { keepSeconds, now });
  /** Number of old runs that still exist, such as waiting ones, and that the last checks skipped. */
  let passed = 0;
  return {
    add,

    remove: (runId, { requester }) => removeFromLists(redis, runId, requester),

    async trim() {
      const madeBefore = now() - keepSeconds * 1_000;
      const old = await fromRedis(
        redis.zrangebyscore(INDEX_KEY, "-inf", madeBefore, "LIMIT", passed, TRIMMED_AT_ONCE),
      );
      const kept = await Promise.all(old.map((runId) => fromRedis(redis.exists(stateKey(runId)))));
      const gone = old.filter((_, index) => kept[index] === 0);
      if (gone.length > 0) {
        await fromRedis(redis.zrem(INDEX_KEY, ...gone));
        await fromRedis(redis.zrem(RETRIED_KEY, ...gone));
      }
      for (const runId of gone) {
        const owner = ownerOfRun(runId);
        if (owner !== null) await fromRedis(redis.zrem(ownerKey(owner), runId));
      }
      passed = old.length < TRIMMED_AT_ONCE ? 0 : passed + old.length - gone.length;
    },

    list: (filter) =>
      filter.ids !== undefined
        ? listNamed({ redis, rows: runRows }, filter, filter.ids)
        : filter.sort === "longest" || filter.sort === "dearest"
          ? listSorted({ redis, rows: runRows, now }, filter, filter.sort)
          : listByTime({ redis, rows: runRows }, filter),

    totals: (filter) => totalsOf({ redis, rows: runRows }, filter),

    async addDead(runId, at) {
      await essentialWrite(redis, ["zadd", DEAD_KEY, Date.parse(at), runId]);
    },

    async dead(cursor, owner) {
      const page = await byTime(redis, DEAD_KEY, { cursor, count: MAX_DEAD_SCANNED });
      const found = await Promise.all(
        page.rows.map(async ({ member, cursor: at }) => {
          const run = readDead(member, await readState(redis, member));
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
      const names = ["attempts", "suspended"];
      const [attempts, suspended = null] = await readColumns(redis, runId, names);
      return detailOf(state, { attempts: Math.max(1, Number(attempts)), suspended });
    },
  };
}

async function removeFromLists(redis: Redis, runId: string, requester: string): Promise<void> {
  const owner = ownerOfRun(runId) ?? requester;
  for (const key of [INDEX_KEY, ownerKey(owner), DEAD_KEY, RETRIED_KEY])
    await fromRedis(redis.zrem(key, runId));
}

interface RowParts {
  readonly redis: Redis;
  readonly rows: RunRows;
}

/** Lists the runs of some ids that fit the filters. */
async function listNamed(
  { redis, rows }: RowParts,
  { limit, owner, ids: _ids, sort: _sort, cursor: _cursor, ...wanted }: RunFilter,
  ids: readonly string[],
): Promise<RunPage> {
  const isWanted = rowFilter(wanted);
  const found = (await rows.read([...new Set(ids)]))
    .filter((row) => isWanted(row) && (owner === undefined || row.requester === owner))
    .toSorted((a, b) => b.createdMs - a.createdMs)
    .slice(0, limit);
  return {
    runs: await summariesOf(
      redis,
      found.map(({ runId }) => runId),
    ),
    next: null,
  };
}

/** Reads the list part by part, so it has no bound but the one of each reply. */
async function listByTime(
  { redis, rows }: RowParts,
  { limit, owner, cursor, sort, ...wanted }: RunFilter,
): Promise<RunPage> {
  const isWanted = rowFilter(wanted);
  const times = { from: wanted.from, to: wanted.to, isOldestFirst: sort === "oldest" };
  const runs: RunSummary[] = [];
  let next = cursor ?? null;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    const page = await byTime(redis, listKey(owner), { ...times, cursor: next, count: PAGE });
    const found = await rows.read(page.rows.map(({ member }) => member));
    const ids = new Set(found.filter(isWanted).map(({ runId }) => runId));
    const fitting = page.rows.filter(({ member }) => ids.has(member));
    const part = fitting.slice(0, limit - runs.length);
    runs.push(
      ...(await summariesOf(
        redis,
        part.map(({ member }) => member),
      )),
    );
    const last = part.at(-1);
    if (runs.length === limit && last !== undefined) {
      const isEnd = page.isLast && last === page.rows.at(-1);
      return { runs, next: isEnd ? null : last.cursor };
    }
    if (page.isLast) return { runs, next: null };
    next = page.rows.at(-1)?.cursor ?? next;
  }
  return { runs, next };
}

/** Summaries in the order of the ids; of a run that has just expired there is none. */
async function summariesOf(redis: Redis, runIds: readonly string[]): Promise<RunSummary[]> {
  const found = await Promise.all(
    runIds.map(async (runId) => readSummary(runId, await readState(redis, runId))),
  );
  return found.filter((run) => run !== null);
}

/** Orders the newest runs by a number; the cursor is the number and the id of the last row. */
async function listSorted(
  { redis, rows, now }: RowParts & { readonly now: () => number },
  { limit, owner, cursor, sort: _sort, ...wanted }: RunFilter,
  sort: "longest" | "dearest",
): Promise<RunPage> {
  const at = now();
  const found = await newestRows({ redis, rows }, owner);
  const numberOf = (row: RunRow): number =>
    sort === "longest" ? durationMs(row, at) : Math.round((row.costUsd ?? 0) * MICRO);
  const isWanted = rowFilter(wanted);
  const ordered = found.rows
    .filter(isWanted)
    .map(({ runId, ...row }) => ({ runId, number: numberOf({ runId, ...row }) }))
    .toSorted((a, b) => b.number - a.number || (a.runId < b.runId ? -1 : 1));
  const [, digits, after = ""] = /^(\d+):(.+)$/.exec(cursor ?? "") ?? [];
  const number = Number(digits);
  const first = ordered.findIndex(
    (row) => row.number < number || (row.number === number && row.runId > after),
  );
  const begin = digits === undefined ? 0 : first === -1 ? ordered.length : first;
  const part = ordered.slice(begin, begin + limit);
  const last = part.at(-1);
  const isEnd = begin + limit >= ordered.length || last === undefined;
  return {
    runs: await summariesOf(
      redis,
      part.map(({ runId }) => runId),
    ),
    next: isEnd ? null : `${last.number}:${last.runId}`,
    searchedFrom: found.searchedFrom,
  };
}

async function totalsOf(
  parts: RowParts,
  { owner, fromMs, toMs, ...wanted }: Parameters<RunIndex["totals"]>[0],
): Promise<RunTotals> {
  const { rows, searchedFrom } = await newestRows(parts, owner);
  const isWanted = rowFilter({ ...wanted, from: undefined, to: undefined });
  const inRange = rows.filter(
    (row) => row.createdMs >= fromMs && row.createdMs < toMs && isWanted(row),
  );
  const running = rows.filter(({ status }) => status === "running");
  return {
    now: {
      running: running.length,
      waiting: rows.filter(({ status }) => status === "waiting").length,
      suspended: running.filter(({ isSuspended }) => isSuspended).length,
    },
    searchedFrom,
    ...totalRows(inRange, { fromMs, toMs }),
  };
}

/** Reads the newest rows of an owner, or of all. */
async function newestRows(
  { redis, rows }: RowParts,
  owner: string | undefined,
): Promise<{ readonly rows: RunRow[]; readonly searchedFrom: string | null }> {
  const ids = await fromRedis(redis.zrange(listKey(owner), "0", String(MAX_SEARCHED), "REV"));
  const found = await rows.read(ids.slice(0, MAX_SEARCHED));
  const oldest = ids.length > MAX_SEARCHED ? found.at(-1) : undefined;
  const searchedFrom = oldest === undefined ? null : new Date(oldest.createdMs).toISOString();
  return { rows: found, searchedFrom };
}

function listKey(owner: string | undefined): string {
  return owner === undefined ? INDEX_KEY : ownerKey(owner);
}

/** The key of one owner's runs by age, so that listing them does not search the runs of all owners. */
export function ownerKey(owner: string): string {
  return `yard:runs:of:${owner}`;
}
