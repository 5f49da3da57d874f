import { ESSENTIAL } from "./essential-write.ts";

/** The field with the sum of all others. No thing has this name. */
export const STORAGE_TOTAL = "=";

/** The hash that a service has for an owner. All hashes of one owner are in one hash slot. */
export function storageKey(owner: string, service: string): string {
  return `yard:storage:{${owner}}:${service}`;
}

/** The number of fields that each exchange examines, and of the expired ones that it returns. */
const LOOKED_AT = 50;
const RETURNED = 20;
/** An owner without changes for so long has nothing left that lasts. */
const KEPT_SECONDS = 90 * 86_400;

/**
 * The counts of one service for one owner: a hash from the name of each thing to `<bytes> <end in seconds>`, and the sum. Everything is in
 * one script, so the sum is that of the fields at any time. A thing is set to its size, so that a repeat changes nothing, and counts that
 * were lost with a process are corrected with the next set or look-up. A name that begins with ~ is a sum of things that Redis expires
 * itself; it is deleted when its time is over. Other things whose time is over are returned, to be looked up.
 *
 * KEYS the hash · ARGV now in seconds, bytes that may be stored in all, cursor, number of sets, number of adds, then name, bytes and end of
 * each set, of each add and of each reservation · returns the sum, the next cursor, the numbers of the reservations that are refused,
 * things to be looked up
 */
export const LEDGER = `${ESSENTIAL}
local ledger, now, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local total = tonumber(redis.call('HGET', ledger, '${STORAGE_TOTAL}') or '0')
local before = total
local function whole(n) return string.format('%.0f', n) end
local function bytesIn(text) return tonumber(string.match(text or '0', '^%d+')) end
local function put(thing, bytes, ends)
  total = total - bytesIn(redis.call('HGET', ledger, thing)) + bytes
  if bytes == 0 then redis.call('HDEL', ledger, thing)
  else redis.call('HSET', ledger, thing, whole(bytes) .. ' ' .. ends) end
end
local at, sets, adds = 6, tonumber(ARGV[4]), tonumber(ARGV[5])
for _ = 1, sets do
  put(ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2])
  at = at + 3
end
for _ = 1, adds do
  local thing = ARGV[at]
  put(thing, bytesIn(redis.call('HGET', ledger, thing)) + tonumber(ARGV[at + 1]), ARGV[at + 2])
  at = at + 3
end
-- Before anything is refused, what is over makes room.
local found = redis.call('HSCAN', ledger, ARGV[3], 'COUNT', ${LOOKED_AT})
local due = {}
for i = 1, #found[2], 2 do
  local thing, ends = found[2][i], tonumber(string.match(found[2][i + 1], ' (%d+)$') or '')
  if ends and ends <= now then
    if string.sub(thing, 1, 1) == '~' then put(thing, 0, '0')
    elseif #due < ${RETURNED} then due[#due + 1] = thing end
  end
end
local refused, index = {}, 0
while at <= #ARGV do
  local thing, bytes = ARGV[at], tonumber(ARGV[at + 1])
  local known = bytesIn(redis.call('HGET', ledger, thing))
  if known == 0 and total + bytes > most then refused[#refused + 1] = index
  elseif known < bytes then put(thing, bytes, ARGV[at + 2]) end
  at = at + 3
  index = index + 1
end
if total ~= before or sets > 0 then
  if redis.call('HLEN', ledger) > 0 and total > 0 then
    redis.call('HSET', ledger, '${STORAGE_TOTAL}', whole(total))
    redis.call('EXPIRE', ledger, ${KEPT_SECONDS})
  else redis.call('DEL', ledger) end
end
return {whole(total), found[1], refused, due}
`;
