import { ESSENTIAL } from "@switchyard/service/essential-write";

/** Estimates its key, its list entries, and the keys of its log. */
const JOB_BYTES = 1_000;
/** The bytes of a member of a sorted set with its score. */
const MARK_BYTES = 100;

/** The size of a job. KEYS are of the job, of the entries of its log and of its marks of messages. */
const SIZE = `
local function sizeOf(job, entries, marks)
  local bytes = redis.call('HSTRLEN', job, 'body') + redis.call('ZCARD', marks) * ${MARK_BYTES}
  for _, entry in ipairs(redis.call('HVALS', entries)) do bytes = bytes + #entry + ${MARK_BYTES} end
  return bytes > 0 and bytes + ${JOB_BYTES} or 0
end
`;

/**
 * One change of a job, in one step: nothing is written unless the record is the one that was read. All keys have the tag
 * `{schedules}`.
 *
 * Resolves with the size of the job, and the ids of removed jobs whose logs were deleted.
 *
 * KEYS job · due times · the owner's jobs · all jobs · the owner's removed jobs · log order · log entries · events to publish · marks of messages ·
 * note of the request
 * ARGV id · expected revision, 0 for none · new revision, '' removes · body · wake time or '' · created · most jobs or '' · now ·
 * entries kept · mark of a message or '' · marks kept · note that a repeat of the request finds, or '' · its seconds · removed jobs kept ·
 * prefixes of the keys 6, 7 and 9 · number of entries · {key, time, json} of each · events as JSON
 */
export const WRITE = `${ESSENTIAL}${SIZE}
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
local answer = {'ok', '0'}
if ARGV[3] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZREM', KEYS[4], ARGV[1])
  redis.call('ZADD', KEYS[5], ARGV[8], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', tonumber(ARGV[8]) - 2592000000)
  for _, old in ipairs(redis.call('ZRANGE', KEYS[5], 0, -tonumber(ARGV[14]) - 1)) do
    for at = 15, 17 do redis.call('DEL', ARGV[at] .. old) end
    redis.call('ZREM', KEYS[5], old)
    answer[#answer + 1] = old
  end
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
local count = tonumber(ARGV[18])
for i = 0, count - 1 do
  local at = 19 + i * 3
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
for i = 19 + count * 3, #ARGV do redis.call('RPUSH', KEYS[8], ARGV[i]) end
answer[2] = tostring(sizeOf(KEYS[1], KEYS[7], KEYS[9]))
return answer
`;

/** KEYS job · log entries · marks of messages. Returns its size, and the milliseconds until its log expires. */
export const WEIGH = `${SIZE}
return {sizeOf(KEYS[1], KEYS[2], KEYS[3]), redis.call('EXISTS', KEYS[1]) == 1 and -1 or redis.call('PTTL', KEYS[2])}
`;

/** Releases a job that was not changed. KEYS job, due times · ARGV id, revision, wake time or '' */
export const GIVE_BACK = `${ESSENTIAL}
if redis.call('HGET', KEYS[1], 'rev') ~= ARGV[2] then return {'conflict'} end
if ARGV[3] == '' then redis.call('ZREM', KEYS[2], ARGV[1]) else redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1]) end
return {'ok'}
`;
