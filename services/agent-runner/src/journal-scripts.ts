/**
 * The only ways to write a run. Each script is atomic, touches keys of one run only (one hash slot)
 * and, apart from `claim`, refuses a caller whose epoch is not the newest.
 *
 * State hash: digest (of the command), epoch, delivery (stream sequence of the command that holds
 * the run), heldUntil (ms, by Redis' clock), attempts, stalled (claims since the last progress),
 * published (events that are surely in the stream), status and the other columns of a summary.
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

const FENCE = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return {'fenced'} end
`;

/**
 * Takes a run, or makes it when a first entry is given.
 * KEYS state, journal, blobs… · ARGV digest, delivery, holdMs, first entry or '', number of columns,
 * columns…, blob contents…
 */
export const CLAIM = `${NOW}
local state, journal = KEYS[1], KEYS[2]
local digest, delivery, entry = ARGV[1], ARGV[2], ARGV[4]
local heldUntil = now + tonumber(ARGV[3])
local run = redis.call('HMGET', state, 'digest', 'status', 'delivery', 'heldUntil', 'epoch', 'published')
if not run[1] then
  if entry == '' then return {'absent'} end
  local last = 5 + tonumber(ARGV[5])
  redis.call('HSET', state, 'digest', digest, 'epoch', 1, 'delivery', delivery, 'heldUntil', heldUntil,
    'attempts', 1, 'stalled', 1, 'published', 0, 'status', 'running')
  if last > 5 then redis.call('HSET', state, unpack(ARGV, 6, last)) end
  for index = 3, #KEYS do redis.call('SET', KEYS[index], ARGV[last + index - 2]) end
  redis.call('RPUSH', journal, entry)
  return {'claimed', '1', '1', '1', '0'}
end
if run[1] ~= digest then return {'taken'} end
if run[2] ~= 'running' then return {'ended', run[5], run[6]} end
if run[3] ~= delivery and tonumber(run[4] or 0) > now then
  return {'busy', tostring(tonumber(run[4]) - now)}
end
redis.call('HSET', state, 'delivery', delivery, 'heldUntil', heldUntil)
local epoch = redis.call('HINCRBY', state, 'epoch', 1)
local attempts = redis.call('HINCRBY', state, 'attempts', 1)
local stalled = redis.call('HINCRBY', state, 'stalled', 1)
return {'claimed', tostring(epoch), tostring(attempts), tostring(stalled), run[6]}
`;

/**
 * Adds one entry at the position where the writer believes the end to be. Writing the same entry
 * again is no error, so a writer that lost the reply may repeat itself.
 * KEYS state, journal, blobs… · ARGV epoch, position, entry, progress, number of columns, columns…,
 * blob contents…
 */
export const APPEND = `${FENCE}
local state, journal = KEYS[1], KEYS[2]
local position, entry = tonumber(ARGV[2]), ARGV[3]
local length = redis.call('LLEN', journal)
if length ~= position then
  if redis.call('LINDEX', journal, position) == entry then return {'ok'} end
  return {'conflict', tostring(length)}
end
local last = 5 + tonumber(ARGV[5])
for index = 3, #KEYS do redis.call('SET', KEYS[index], ARGV[last + index - 2]) end
redis.call('RPUSH', journal, entry)
if ARGV[4] == '1' then redis.call('HSET', state, 'stalled', 0) end
if last > 5 then redis.call('HSET', state, unpack(ARGV, 6, last)) end
return {'ok'}
`;

/** Says that the holder is alive. KEYS state · ARGV epoch, holdMs */
export const RENEW = `${FENCE}${NOW}
redis.call('HSET', KEYS[1], 'heldUntil', now + tonumber(ARGV[2]))
return {'ok'}
`;

/** Notes that the first n events are in the stream; never goes back. KEYS state · ARGV epoch, n */
export const MARK_PUBLISHED = `${FENCE}
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], 'published') or 0) then
  redis.call('HSET', KEYS[1], 'published', ARGV[2])
end
return {'ok'}
`;

/**
 * Gives the run back unharmed: anyone may take it at once and the attempt does not count against it.
 * KEYS state · ARGV epoch
 */
export const RELEASE = `${FENCE}
redis.call('HSET', KEYS[1], 'heldUntil', 0)
if tonumber(redis.call('HGET', KEYS[1], 'stalled') or 0) > 0 then
  redis.call('HINCRBY', KEYS[1], 'stalled', -1)
end
return {'ok'}
`;
