import { MAX_WINDOW_CALLS } from "@switchyard/rules/schema/window-schema";
import type {
  WindowAnswer,
  WindowAsked,
  WindowPlan,
} from "@switchyard/rules/budgets/window-memory";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { z } from "zod";

/** A window in which a call is counted, so that the call can be taken out of it again. */
export type CountedWindow = Pick<WindowAsked, "key" | "kind">;

/**
 * The functions of both scripts. A window has the times of its calls, and, unless it only counts them, the share of each and its totals: the
 * sum, or how many calls have each value.
 */
const WINDOWS = `
local function keysOf(position) return KEYS[3 * position - 2], KEYS[3 * position - 1], KEYS[3 * position] end
local function drop(position, kind, reservation)
  local times, shares, totals = keysOf(position)
  if redis.call('ZREM', times, reservation) == 0 or kind == 'count' then return end
  local share = redis.call('HGET', shares, reservation)
  redis.call('HDEL', shares, reservation)
  if not share then return end
  if kind == 'sum' then redis.call('DECRBY', totals, share)
  elseif redis.call('HINCRBY', totals, share, -1) <= 0 then redis.call('HDEL', totals, share) end
end
`;

/**
 * KEYS: three of each window. ARGV: the plan as JSON; the reservation, or nothing to only read; the time in milliseconds, or nothing for the
 * clock of Redis; how many calls a window remembers. Calls that have left a window are removed first. Every window is read before the first write.
 */
const TAKE = `${WINDOWS}
local plan = cjson.decode(ARGV[1])
local reservation, most = ARGV[2], tonumber(ARGV[4])
local now = tonumber(ARGV[3])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local readings, full = {}, -1
for position, window in ipairs(plan.windows) do
  local times, shares, totals = keysOf(position)
  local gone = redis.call('ZRANGE', times, '-inf', now - window.withinMs, 'BYSCORE')
  for _, left in ipairs(gone) do drop(position, window.kind, left) end
  local count = redis.call('ZCARD', times)
  local before, after = count, count
  if window.kind == 'sum' then before = tonumber(redis.call('GET', totals) or '0')
  elseif window.kind == 'distinct' then before = redis.call('HLEN', totals) end
  after = before
  if window.share ~= cjson.null then
    if window.kind == 'sum' then after = before + tonumber(window.share)
    elseif window.kind == 'count' or redis.call('HEXISTS', totals, window.share) == 0 then after = before + 1 end
    if full < 0 and count >= most then full = position - 1 end
  end
  local oldest = redis.call('ZRANGE', times, 0, 0, 'WITHSCORES')[2]
  readings[position] = { before = before, after = after, oldest = oldest }
end
local function holds(clause)
  local reading = readings[clause.window + 1]
  local value = clause.on == 'after' and reading.after or reading.before
  if clause.op == 'lt' then return value < clause.value end
  if clause.op == 'lte' then return value <= clause.value end
  if clause.op == 'gt' then return value > clause.value end
  return value >= clause.value
end
local function isAny(rules)
  for _, clauses in ipairs(rules) do
    local all = true
    for _, clause in ipairs(clauses) do all = all and holds(clause) end
    if all then return true end
  end
  return false
end
local passes = not isAny(plan.denies) and (plan.passesAlone or isAny(plan.allows))
local isTaken = passes and full < 0 and reservation ~= ''
if isTaken then
  for position, window in ipairs(plan.windows) do
    if window.share ~= cjson.null then
      local times, shares, totals = keysOf(position)
      redis.call('ZADD', times, now, reservation)
      redis.call('PEXPIRE', times, window.withinMs)
      if window.kind ~= 'count' then
        redis.call('HSET', shares, reservation, window.share)
        redis.call('PEXPIRE', shares, window.withinMs)
        if window.kind == 'sum' then redis.call('INCRBY', totals, window.share)
        else redis.call('HINCRBY', totals, window.share, 1) end
        redis.call('PEXPIRE', totals, window.withinMs)
      end
    end
  end
end
local answer = { isTaken and 1 or 0, passes and full or -1 }
for _, reading in ipairs(readings) do
  table.insert(answer, string.format('%.0f', reading.before))
  table.insert(answer, string.format('%.0f', reading.after))
  table.insert(answer, reading.oldest or '')
end
return answer
`;

/** KEYS: three of each window. ARGV: the reservation, then the kind of each window. */
const GIVE_BACK = `${ESSENTIAL}${WINDOWS}
for position = 1, #KEYS / 3 do drop(position, ARGV[position + 1], ARGV[1]) end
return 1
`;

interface TakeOptions {
  readonly reservation: string | null;
  readonly nowMs: number | null;
  /** Also writes above the memory limit of Redis. */
  readonly isEssential?: boolean;
}

/** Reads the windows, decides, and counts the call under the reservation if it passes, in one script. Without a reservation nothing is counted. */
export async function takeWindows(
  redis: Redis,
  plan: WindowPlan,
  { reservation, nowMs, isEssential = false }: TakeOptions,
): Promise<WindowAnswer> {
  const { windows, denies, allows, passesAlone } = plan;
  if (windows.length === 0)
    return { isTaken: passesAlone && denies.length === 0, full: null, readings: [] };
  const reply = await redis.eval(
    isEssential ? `${ESSENTIAL}${TAKE}` : TAKE,
    windows.length * 3,
    ...windows.flatMap(keysOf),
    JSON.stringify({ windows, denies, allows, passesAlone }),
    reservation ?? "",
    nowMs === null ? "" : String(nowMs),
    String(MAX_WINDOW_CALLS),
  );
  const [isTaken, full, ...values] = Reply.parse(reply);
  const numbers = values.map((value) => (value === "" ? null : Number(value)));
  return {
    isTaken: isTaken === 1,
    full: full === -1 ? null : (full ?? null),
    readings: windows.map((_, position) => ({
      before: numbers[3 * position] ?? 0,
      after: numbers[3 * position + 1] ?? 0,
      oldestMs: numbers[3 * position + 2] ?? null,
    })),
  };
}

const Reply = z.tuple([z.int(), z.int()], z.string());

/** Takes a call out of its windows. A call that has left a window by itself is skipped. */
export async function giveBackWindows(
  redis: Redis,
  windows: readonly CountedWindow[],
  reservation: string,
): Promise<void> {
  if (windows.length === 0) return;
  const kinds = windows.map(({ kind }) => kind);
  await redis.eval(
    GIVE_BACK,
    windows.length * 3,
    ...windows.flatMap(keysOf),
    reservation,
    ...kinds,
  );
}

/** All windows are in one slot, because one script decides by several of them. */
function keysOf({ key }: Pick<WindowAsked, "key">): string[] {
  return [
    `yard:policy:{windows}:times:${key}`,
    `yard:policy:{windows}:shares:${key}`,
    `yard:policy:{windows}:totals:${key}`,
  ];
}
