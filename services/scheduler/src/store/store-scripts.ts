import { ESSENTIAL } from "@switchyard/service/essential-write";

/**
 * One change of a job, in one step: nothing is written unless the record is the one that was read. All keys have the tag
 * `{schedules}`.
 *
 * KEYS job · due times · the owner's jobs · all jobs · the owner's removed jobs · log order · log entries · events to publish · marks of messages ·
 * note of the request
 * ARGV id · expected revision, 0 for none · new revision, '' removes · body · wake time or '' · created · most jobs or '' · now ·
 * entries kept · mark of a message or '' · marks kept · note that a repeat of the request finds, or '' · its seconds · removed jobs kept ·
 * number of entries · {key, time, json} of each · events as JSON
 */
export const WRITE = `${ESSENTIAL}
if ARGV[12] ~= '' then
  local noted = redis.call('GET', KEYS[10])
  if noted then return {'noted', noted} end
end
local rev = redis.call('HGET', KEYS[1], 'rev') or '0'
if rev ~= ARGV[2] then return {'conflict'} end
if rev == '0' and ARGV[7] ~= '' and redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[7]) then return {'full'} end
if ARGV[10] ~= '' then
  if redis.call('ZSCORE', KEYS[9], ARGV[10]) then return {'repeated'} end
  redis.call('ZADD', KEYS[9], ARGV[8], ARGV[10])
  redis.call('ZREMRANGEBYRANK', KEYS[9], 0, -tonumber(ARGV[11]) - 1)
  redis.call('EXPIRE', KEYS[9], 2592000)
end
if ARGV[12] ~= '' then redis.call('SET', KEYS[10], ARGV[12], 'EX', ARGV[13]) end
if ARGV[3] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZREM', KEYS[4], ARGV[1])
  redis.call('ZADD', KEYS[5], ARGV[8], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', tonumber(ARGV[8]) - 2592000000)
  redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -tonumber(ARGV[14]) - 1)
  redis.call('EXPIRE', KEYS[5], 2592000)
else
  redis.call('HSET', KEYS[1], 'rev', ARGV[3], 'body', ARGV[4])
  if rev == '0' then
    redis.call('ZADD', KEYS[3], ARGV[6], ARGV[1])
    redis.call('ZADD', KEYS[4], ARGV[6], ARGV[1])
  end
  if ARGV[5] == '' then redis.call('ZREM', KEYS[2], ARGV[1])
  else redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1]) end
end
local count = tonumber(ARGV[15])
for i = 0, count - 1 do
  local at = 16 + i * 3
  redis.call('ZADD', KEYS[6], ARGV[at + 1], ARGV[at])
  redis.call('HSET', KEYS[7], ARGV[at], ARGV[at + 2])
end
if count > 0 then
  local most = tonumber(ARGV[9])
  for _, old in ipairs(redis.call('ZRANGE', KEYS[6], 0, -most - 1)) do redis.call('HDEL', KEYS[7], old) end
  redis.call('ZREMRANGEBYRANK', KEYS[6], 0, -most - 1)
end
-- The log of a job that goes is kept for 30 days.
if ARGV[3] == '' then
  redis.call('EXPIRE', KEYS[6], 2592000)
  redis.call('EXPIRE', KEYS[7], 2592000)
end
for i = 16 + count * 3, #ARGV do redis.call('RPUSH', KEYS[8], ARGV[i]) end
return {'ok'}
`;

/**
 * Takes jobs that somebody has to look at; who takes them has them for a while.
 * KEYS due times · ARGV now, until when, how many
 */
export const TAKE = `${ESSENTIAL}
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, id in ipairs(ids) do redis.call('ZADD', KEYS[1], ARGV[2], id) end
return ids
`;

/** Gives a job back that was not changed. KEYS job, due times · ARGV id, revision, wake time or '' */
export const GIVE_BACK = `${ESSENTIAL}
if redis.call('HGET', KEYS[1], 'rev') ~= ARGV[2] then return {'conflict'} end
if ARGV[3] == '' then redis.call('ZREM', KEYS[2], ARGV[1]) else redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1]) end
return {'ok'}
`;
