import { ESSENTIAL } from "@switchyard/service/essential-write";
import { LOCKS } from "@switchyard/service/redis-lease";

// Each script is one step in Redis. KEYS are named in subscription-store.ts, in the order of the comments.

/** Pending deliveries of a webhook are counted in the hash `pending`: their number under its id, and their bytes under `<id>:bytes` until none waits. */
const PENDING_BYTES = `
local function countPending(key, webhook, deliveries, bytes)
  if redis.call('HINCRBY', key, webhook, deliveries) <= 0 then redis.call('HDEL', key, webhook, webhook .. ':bytes')
  else redis.call('HINCRBY', key, webhook .. ':bytes', bytes) end
end
`;

/** KEYS: subscriptions, owners, cursor. ARGV: id, record, owner, limit, position of the last event. 0: the owner has as many as it may. */
export const CREATE = `
if tonumber(redis.call('HGET', KEYS[2], ARGV[3]) or '0') >= tonumber(ARGV[4]) then return 0 end
redis.call('HINCRBY', KEYS[2], ARGV[3], 1)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('SET', KEYS[3], ARGV[5]) end
return 1
`;

/** KEYS: subscriptions. ARGV: id, the current record, the new one. 0: the record was changed meanwhile, or there is none. */
export const CHANGE = `${ESSENTIAL}
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`;

/** KEYS: subscriptions, owners, pending, deliveries, dead of this one. ARGV: id, owner. What waits is dropped when it is due. */
export const REMOVE = `${ESSENTIAL}
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[2], ARGV[2], -1) <= 0 then redis.call('HDEL', KEYS[2], ARGV[2]) end
redis.call('HDEL', KEYS[3], ARGV[1], ARGV[1] .. ':bytes')
for _, key in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do redis.call('HDEL', KEYS[4], key) end
redis.call('DEL', KEYS[5])
return 1
`;

/**
 * KEYS: reader, subscriptions, cursor, browsers that get web push. ARGV: holder, lease in milliseconds. Who reads, how many
 * subscriptions and browsers there are, from where; the position is empty where none is stored. Without any, nothing is written: each
 * write is synced.
 */
export const LEAD = `${ESSENTIAL}${LOCKS}
local count = redis.call('HLEN', KEYS[2]) + redis.call('HLEN', KEYS[4])
if count == 0 then
  releaseLock(KEYS[1], ARGV[1])
  if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('DEL', KEYS[3]) end
  return {0, 0, ''}
end
if not holdLock(KEYS[1], ARGV[1], ARGV[2]) then return {0, 0, ''} end
return {1, count, redis.call('GET', KEYS[3]) or ''}
`;

/**
 * KEYS: reader, cursor, due, deliveries, pending, subscriptions. ARGV: holder, position, now, most pending, most bytes of them,
 * then id of the delivery, of its subscription, and record. False: another replica reads; else the subscriptions that have too
 * much pending.
 */
export const ENQUEUE = `${PENDING_BYTES}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local full = {}
for i = 6, #ARGV, 3 do
  if redis.call('HEXISTS', KEYS[6], ARGV[i + 1]) == 1 and redis.call('HEXISTS', KEYS[4], ARGV[i]) == 0 then
    local waiting = redis.call('HMGET', KEYS[5], ARGV[i + 1], ARGV[i + 1] .. ':bytes')
    local bytes = #ARGV[i + 2]
    if tonumber(waiting[1] or '0') >= tonumber(ARGV[4]) or tonumber(waiting[2] or '0') + bytes > tonumber(ARGV[5]) then
      full[#full + 1] = ARGV[i + 1]
    else
      redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 2])
      redis.call('ZADD', KEYS[3], ARGV[3], ARGV[i])
      countPending(KEYS[5], ARGV[i + 1], 1, bytes)
    end
  end
end
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('SET', KEYS[2], ARGV[2]) end
return full
`;

/** KEYS: due, deliveries, pending. ARGV: id of the delivery, of its subscription. */
export const DONE = `${ESSENTIAL}${PENDING_BYTES}
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
local bytes = redis.call('HSTRLEN', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then countPending(KEYS[3], ARGV[2], -1, -bytes) end
return 1
`;

/** KEYS: due, deliveries, pending. ARGV: id of the delivery, of its subscription, record, when. */
export const AGAIN = `${ESSENTIAL}${PENDING_BYTES}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
countPending(KEYS[3], ARGV[2], 0, #ARGV[3] - redis.call('HSTRLEN', KEYS[2], ARGV[1]))
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[4], ARGV[1])
return 1
`;

/**
 * KEYS: due, deliveries, pending, dead, subscriptions. ARGV: id of the delivery, of its subscription, record, now, how many are
 * stored, and how many bytes of them.
 */
export const GIVE_UP = `${ESSENTIAL}${PENDING_BYTES}
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HEXISTS', KEYS[5], ARGV[2]) == 0 then redis.call('HDEL', KEYS[2], ARGV[1]); return 0 end
countPending(KEYS[3], ARGV[2], -1, -redis.call('HSTRLEN', KEYS[2], ARGV[1]))
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[4], ARGV[4], ARGV[1])
local bytes = 0
for place, key in ipairs(redis.call('ZREVRANGE', KEYS[4], 0, -1)) do
  bytes = bytes + redis.call('HSTRLEN', KEYS[2], key)
  if place > tonumber(ARGV[5]) or (place > 1 and bytes > tonumber(ARGV[6])) then
    redis.call('ZREM', KEYS[4], key)
    redis.call('HDEL', KEYS[2], key)
  end
end
return 1
`;

/** KEYS: due, deliveries, pending, dead. ARGV: id of the delivery, of its subscription, record, now. */
export const REVIVE = `${PENDING_BYTES}
if redis.call('ZREM', KEYS[4], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[4], ARGV[1])
countPending(KEYS[3], ARGV[2], 1, #ARGV[3])
return 1
`;
