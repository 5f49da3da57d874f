import { ESSENTIAL } from "@switchyard/service/essential-write";

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
export const HOLD = `${LEDGER}
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
export const COUNT = `${ESSENTIAL}${LEDGER}
count()
local hold = redis.call('HGET', amounts, 'run:' .. runId)
if hold and tonumber(string.match(hold, '%d+')) <= epoch then letGo(runId) end
return {'ok', ''}
`;
