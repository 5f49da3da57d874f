import type { ReachedLimit } from "@switchyard/contracts/agent-runner/run-waits";
import type { Redis } from "@switchyard/service/redis";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import { CallerName } from "@switchyard/contracts/ids";
import { openSettingsFile } from "@switchyard/service/settings-file";
import type { Log } from "@switchyard/service/log";
import { z } from "zod";
import { defineScripts } from "../journal/redis-scripts.ts";
import type { Hold } from "../journal/run-claim.ts";
import type { RunState } from "../core/run-state.ts";

/** The expected use of a model call; the cost is computed from the price, and 0 when the models file has no price. */
export interface StepNeed {
  readonly tokens: number;
  readonly costUsd: number;
}

type TeamAnswer =
  | { readonly outcome: "held" }
  /** Other runs of the team have reserved the rest, and may release some of it. */
  | { readonly outcome: "busy" }
  | { readonly outcome: "exceeded"; readonly reached: ReachedLimit; readonly until: string };

/** The use of the runs of each team, for all runners together. Its methods reject with StoreError. */
export interface TeamLedger {
  /** True when the use of this user's runs is counted. */
  isLimited(team: string): Promise<boolean>;
  /** Reserves the expected use of the next model call, replacing the run's earlier reservation. */
  hold(state: RunState, hold: Hold, need: StepNeed): Promise<TeamAnswer>;
  /** Counts the run's use so far, and releases its reservation. Idempotent. */
  count(state: RunState, hold: Hold): Promise<void>;
}

/** The reservation of a run whose runner died expires after this time, even if no runner takes the run over. */
const HOLD_MS = 30 * 60_000;
/** Longer than a month, and longer than a run is retained that waits at a monthly limit. */
const KEEP_SECONDS = 45 * 86_400;

export function openTeamLedger(
  redis: Redis,
  { book, now }: { readonly book: TeamLimitBook; readonly now: () => number },
): TeamLedger {
  const run = defineScripts(redis, { yardTeamHold: HOLD, yardTeamCount: COUNT });
  return {
    isLimited: async (team) => (await book.limitOf(team)) !== null,

    async hold(state, hold, need) {
      const team = state.started.requester;
      const limit = await book.limitOf(team);
      if (limit === null) return { outcome: "held" };
      const window = windowOf(limit.per, now());
      const [outcome, what] = await run("yardTeamHold", keysOf(team, hold, window.name), [
        ...usedOf(state, hold),
        Math.ceil(need.tokens),
        billionths(need.costUsd),
        limit.tokens ?? 0,
        billionths(limit.costUsd ?? 0),
        HOLD_MS,
      ]);
      if (outcome === "held" || outcome === "busy") return { outcome };
      const reached = reachedOf(team, limit, what === "cost" ? "costUsd" : "tokens");
      return { outcome: "exceeded", reached, until: window.endsAt };
    },

    async count(state, hold) {
      const team = state.started.requester;
      const limit = await book.limitOf(team);
      if (limit === null) return;
      const window = windowOf(limit.per, now());
      await run("yardTeamCount", keysOf(team, hold, window.name), usedOf(state, hold));
    },
  };
}

function reachedOf(name: string, limit: TeamLimit, what: "tokens" | "costUsd"): ReachedLimit {
  return { limit: what, value: limit[what] ?? 0, team: { name, per: limit.per } };
}

function usedOf({ usage, knownCostUsd }: RunState, { runId, epoch }: Hold): (string | number)[] {
  const tokens = usage.inputTokens + usage.outputTokens;
  return [runId, epoch, tokens, billionths(knownCostUsd), KEEP_SECONDS, KEEP_SECONDS];
}

function keysOf(team: string, { runId }: Hold, window: string): string[] {
  const stem = `yard:team:{${team}}`;
  return [`${stem}:spend:${window}`, `${stem}:run:${runId}`, `${stem}:held`, `${stem}:amounts`];
}

function billionths(usd: number): number {
  return Math.round(usd * 1e9);
}

/**
 * The tokens and costs that the runs of one team have used and reserved. All keys of a team are in one slot:
 * - `spend:{window}` (hash `tokens`, `cost`): used in an hour, day or month
 * - `run:{runId}` (hash `tokens`, `cost`): the part of a run's use that is counted already
 * - `held` (sorted set of run ids by the time at which their reservation expires) and `amounts` (hash: `tokens` and `cost` of
 * all, and `epoch tokens cost` by run)
 *
 * A run reports its total use from its journal, so a repeated report counts once, and the next runner reports what a dead
 * runner did not. Costs are whole billionths of a dollar.
 */

const LEDGER = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local spend, run, held, amounts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local runId, epoch = ARGV[1], tonumber(ARGV[2])
local function whole(n) return string.format('%.0f', n + 0) end
local function add(key, tokens, cost)
  redis.call('HINCRBY', key, 'tokens', whole(tokens))
  redis.call('HINCRBY', key, 'cost', whole(cost))
end
local function letGo(id)
  local hold = redis.call('HGET', amounts, 'run:' .. id)
  if hold then
    local _, tokens, cost = string.match(hold, '(%d+) (%d+) (%d+)')
    add(amounts, -tonumber(tokens), -tonumber(cost))
    redis.call('HDEL', amounts, 'run:' .. id)
  end
  redis.call('ZREM', held, id)
end
local function count()
  local usedTokens, usedCost = tonumber(ARGV[3]), tonumber(ARGV[4])
  local known = redis.call('HMGET', run, 'tokens', 'cost')
  -- A run that is first seen here owes nothing for what it did before its team had a limit.
  local tokens = math.max(0, usedTokens - tonumber(known[1] or usedTokens))
  local cost = math.max(0, usedCost - tonumber(known[2] or usedCost))
  redis.call('HSET', run, 'tokens', whole(math.max(usedTokens, tonumber(known[1] or 0))),
    'cost', whole(math.max(usedCost, tonumber(known[2] or 0))))
  redis.call('EXPIRE', run, ARGV[5])
  if tokens > 0 or cost > 0 then add(spend, tokens, cost) end
  redis.call('EXPIRE', spend, ARGV[6])
end
`;

/**
 * Counts the run's use and reserves the expected use of its next model call; or returns that the team has not enough left
 * (`exceeded`), or would have enough without the reservations of other runs (`busy`). KEYS spend, run, held, amounts · ARGV
 * runId, epoch, tokens and cost used in all, seconds to keep run and spend, tokens and cost expected, tokens and cost allowed
 * (0: no limit), milliseconds to hold
 */
const HOLD = `${LEDGER}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now, 'LIMIT', 0, 100)) do letGo(id) end
local mine = redis.call('HGET', amounts, 'run:' .. runId)
-- The runner that lost the run detects it by its journal.
if mine and tonumber(string.match(mine, '%d+')) > epoch then return {'busy', ''} end
letGo(runId)
count()
local want = {tokens = tonumber(ARGV[7]), cost = tonumber(ARGV[8])}
local most = {tokens = tonumber(ARGV[9]), cost = tonumber(ARGV[10])}
local answer, of = 'held', ''
for _, what in ipairs({'tokens', 'cost'}) do
  if most[what] > 0 and answer ~= 'exceeded' then
    local spent = tonumber(redis.call('HGET', spend, what) or 0)
    local others = tonumber(redis.call('HGET', amounts, what) or 0)
    if spent + want[what] > most[what] then answer, of = 'exceeded', what
    elseif spent + others + want[what] > most[what] then answer, of = 'busy', what end
  end
end
if answer ~= 'held' then return {answer, of} end
add(amounts, want.tokens, want.cost)
redis.call('HSET', amounts, 'run:' .. runId, whole(epoch) .. ' ' .. whole(want.tokens) .. ' ' .. whole(want.cost))
redis.call('ZADD', held, now + tonumber(ARGV[11]), runId)
-- When both are gone, everything in them was forgotten before.
redis.call('PEXPIRE', held, 2 * tonumber(ARGV[11]))
redis.call('PEXPIRE', amounts, 2 * tonumber(ARGV[11]))
return {'held', ''}
`;

/** Counts the run's use, and releases its reservation unless a later holder of the run made it. KEYS and ARGV 1 to 6 as above */
const COUNT = `${ESSENTIAL}${LEDGER}
count()
local hold = redis.call('HGET', amounts, 'run:' .. runId)
if hold and tonumber(string.match(hold, '%d+')) <= epoch then letGo(runId) end
return {'ok', ''}
`;

/** The hour, day or month (UTC) of a time: its name, and when the next one begins. */
export function windowOf(
  per: TeamLimit["per"],
  nowMs: number,
): { readonly name: string; readonly endsAt: string; readonly endsInMs: number } {
  const now = new Date(nowMs);
  const [year, month, day, hour] = [
    now.getUTCFullYear(),
    now.getUTCMonth(),
    now.getUTCDate(),
    now.getUTCHours(),
  ];
  const end = {
    hour: Date.UTC(year, month, day, hour + 1),
    day: Date.UTC(year, month, day + 1),
    month: Date.UTC(year, month + 1, 1),
  }[per];
  const length = { hour: 13, day: 10, month: 7 }[per];
  return {
    name: now.toISOString().slice(0, length),
    endsAt: new Date(end).toISOString(),
    endsInMs: end - nowMs,
  };
}

/** The limits of all runs of one NATS user together in an hour, a day or a month (UTC). */
const TeamLimit = z
  .strictObject({
    per: z.enum(["hour", "day", "month"]),
    /** Input and output tokens. */
    tokens: z.int().min(1).max(1_000_000_000_000).optional(),
    /** Counts the model calls whose price is in the models file. */
    costUsd: z.number().positive().max(1_000_000).optional(),
  })
  .refine(({ tokens, costUsd }) => tokens !== undefined || costUsd !== undefined, {
    error: "must name tokens, costUsd or both",
  });
export type TeamLimit = z.infer<typeof TeamLimit>;

/** `*` applies to each user that is not named, separately. */
const TeamLimitsFile = z.strictObject({
  teams: z.record(z.union([CallerName, z.literal("*")]), TeamLimit),
});

/** The limits of teams at this moment. */
export interface TeamLimitBook {
  /** Null: the team has no limit. */
  limitOf(team: string): Promise<TeamLimit | null>;
}

export const NO_TEAM_LIMITS: TeamLimitBook = { limitOf: () => Promise.resolve(null) };

/** Reads the file, and again when it has changed, so a raised limit needs no restart. Rejects with a StartError when it cannot be used. */
export async function openTeamLimits(
  path: string,
  clock: { readonly log: Log; readonly now: () => number },
): Promise<TeamLimitBook> {
  const current = await openSettingsFile(path, TeamLimitsFile, {
    name: "team limits",
    hint: "correct the file of team limits; the README of the agent runner describes it",
    ...clock,
  });
  return {
    async limitOf(team) {
      const { teams } = await current();
      return teams[team] ?? teams["*"] ?? null;
    },
  };
}
