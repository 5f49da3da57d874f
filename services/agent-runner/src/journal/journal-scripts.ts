import { ESSENTIAL } from "@switchyard/service/essential-write";
import { SHORT_DIGEST } from "./run-columns.ts";

/**
 * The only ways to write a run. Each script is atomic, touches keys of one run only (one hash slot) and, apart from `claim`,
 * `cancel`, `retry` and `tell`, refuses a caller whose epoch is not the newest. Scripts that begin nothing are essential:
 * Redis executes them above its maxmemory, too.
 * The keys of a run: state (hash), journal (list), blobs (hash of long texts by digest), cancels (hash of requests to cancel a run
 * that does not exist yet, and of the commands that brought them, by caller), and after a deletion by request: deleted (hash: requester;
 * open, archive and references to large texts, until these are deleted, too).
 * State hash: digest (of the command; its end once the run is archived), epoch, delivery (stream sequence of the command that holds the run), heldUntil (ms, by
 * Redis' clock), holder (digest of the secret of the runner process that claimed it last), restsUntil (until then only its message
 * in the queue, if any, brings a released run back), attempts, stalled (claims since the last progress), rests (how often it was
 * released to rest since then), suspended (the reason, while it rests), bytes (approximate size of the run's keys), published
 * (events that are surely in the stream), cancel (1 when the journal has a request to cancel), control:… (commands that were
 * applied), status and the other columns of a summary;
 * archive (the object with the journal, once that was moved out of Redis), packed (most other columns since then, see `run-columns.ts`);
 * for a run that waits: wakeAt (ms, 0: never by itself), wakeSeq (how often it was released or woken), open:… (the calls and
 * children of which an entry is expected, each accepted once).
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** Checks which callers may cancel and retry a run. */
const MAY_CONTROL = `
local function mayControl(caller, requester)
  return caller == requester or caller == 'cli' or caller == 'admin'
end
`;

/** Makes a waiting run claimable; returns the number of the wake-up, 0 when it was never released. */
const WAKE = `
local function wake(state, status, before)
  if status ~= 'waiting' then return before or '0' end
  redis.call('HSET', state, 'status', 'running', 'heldUntil', 0, 'wakeAt', 0)
  return tostring(redis.call('HINCRBY', state, 'wakeSeq', 1))
end
`;

/** Redis' overhead of each entry, each text and each run: its columns, names and list members; measured with `MEMORY USAGE`. */
const ENTRY_BYTES = 16;
const TEXT_BYTES = 144;
export const RUN_BYTES = 2_600;

/**
 * Counts the bytes of a run's keys. `keep` writes the texts from an argument on, each once, and returns their bytes; `put` adds an
 * entry, and bytes besides, and returns the run's new total.
 */
const WEIGH = `
local function keep(blobs, first)
  local bytes = 0
  for i = first, #ARGV, 2 do
    if redis.call('HSETNX', blobs, ARGV[i], ARGV[i + 1]) == 1 then bytes = bytes + #ARGV[i + 1] + ${TEXT_BYTES} end
  end
  return bytes
end
local function put(state, journal, entry, more)
  redis.call('RPUSH', journal, entry)
  return redis.call('HINCRBY', state, 'bytes', #entry + ${ENTRY_BYTES} + (more or 0))
end
`;

const FENCE = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return {'fenced'} end
`;

/**
 * Claims a run for a runner process, or creates it when a first entry is given.
 * A new run takes over the requests to cancel that came before it. An empty digest claims the run of any command.
 * A claim counts as one more without progress, unless it follows one that the runner could not release and survived.
 * A run that was deleted by request is not created again by its command, nor by another one.
 * KEYS state, journal, blobs, cancels, deleted · ARGV digest, delivery, holdMs, first entry or '', requester, number of columns, columns…,
 * digest and content of blobs…, epoch of a claim that the runner could not release or '', digest of the claimer's secret
 */
export const CREATE = `${NOW}${WEIGH}
local holder = table.remove(ARGV)
local survived = table.remove(ARGV)
local state, journal, cancels = KEYS[1], KEYS[2], KEYS[4]
local digest, delivery, entry = ARGV[1], ARGV[2], ARGV[4]
local heldUntil = now + tonumber(ARGV[3])
local run = redis.call('HMGET', state, 'digest', 'status', 'delivery', 'heldUntil', 'epoch', 'published')
if not run[1] then
  if digest ~= '' and redis.call('EXISTS', KEYS[5]) == 1 then return {'deleted'} end
  if entry == '' then return {'absent'} end
  local last = 6 + tonumber(ARGV[6])
  redis.call('HSET', state, 'digest', digest, 'epoch', 1, 'delivery', delivery, 'heldUntil', heldUntil, 'holder', holder,
    'attempts', 1, 'stalled', 1, 'published', 0, 'status', 'running', 'bytes', ${RUN_BYTES}, unpack(ARGV, 7, last))
  put(state, journal, entry, keep(KEYS[3], last + 1))
  local by = redis.call('HMGET', cancels, ARGV[5], 'cli', 'admin',
    ARGV[5] .. ' command', 'cli command', 'admin command')
  local request = by[1] or by[2] or by[3] or ''
  -- A command may be delivered once more, when a retry has opened the run again.
  for i = 4, 6 do
    if by[i] then redis.call('HSET', state, 'control:' .. by[i], 1) end
  end
  redis.call('DEL', cancels)
  if request ~= '' then
    put(state, journal, request)
    redis.call('HSET', state, 'cancel', 1)
  end
  return {'claimed', '1', '1', '1', '0', request}
end
local isSame = run[1] == digest or run[1] == string.sub(digest, -${SHORT_DIGEST})
if digest ~= '' and not isSame then return {'taken'} end
if run[2] == 'waiting' then
  local wakeAt = tonumber(redis.call('HGET', state, 'wakeAt') or 0)
  if wakeAt == 0 or now < wakeAt then return {'waiting', run[5], run[6]} end
  redis.call('HSET', state, 'status', 'running')
  redis.call('HINCRBY', state, 'wakeSeq', 1)
  run[4] = 0
elseif run[2] ~= 'running' then
  return {'ended', run[5], run[6]}
end
if run[3] ~= delivery and tonumber(run[4] or 0) > now then
  return {'busy', tostring(tonumber(run[4]) - now)}
end
redis.call('HSET', state, 'delivery', delivery, 'heldUntil', heldUntil, 'holder', holder)
redis.call('HDEL', state, 'suspended')
local epoch = redis.call('HINCRBY', state, 'epoch', 1)
local attempts = redis.call('HINCRBY', state, 'attempts', 1)
local stalled = redis.call('HINCRBY', state, 'stalled', run[5] == survived and 0 or 1)
local rests = redis.call('HGET', state, 'rests') or '0'
return {'claimed', tostring(epoch), tostring(attempts), tostring(stalled), run[6], '', rests}
`;

/** Does the same for a run that exists: it is under way, and may be claimed to be ended. */
export const CLAIM = `${ESSENTIAL}${CREATE}`;

/**
 * Adds entries, all or none, at the position that the writer believes to be the end. Writing the same entries again is not an
 * error, so a writer that lost the reply may repeat the call. Entries that others put there first are returned, and nothing is
 * written; otherwise the new size of the run's keys is returned. The keys of a run that ends get their time to live.
 * KEYS state, journal, blobs · ARGV epoch, position, number of entries, keepSeconds or 0, number of columns, entries…, columns…,
 * digest and content of blobs…
 */
export const APPEND = `${ESSENTIAL}${FENCE}${WEIGH}
local state, journal = KEYS[1], KEYS[2]
local position, count = tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('LLEN', journal) ~= position then
  local there = redis.call('LRANGE', journal, position, position + count - 1)
  local isWritten = #there == count
  for i = 1, count do isWritten = isWritten and there[i] == ARGV[5 + i] end
  if isWritten then return {'ok', redis.call('HGET', state, 'bytes') or '0'} end
  return {'behind', unpack(redis.call('LRANGE', journal, position, position + 9))}
end
local columns = 6 + count
local blobs = columns + tonumber(ARGV[5])
local bytes = keep(KEYS[3], blobs)
for i = 6, columns - 1 do bytes = bytes + #ARGV[i] + ${ENTRY_BYTES} end
redis.call('RPUSH', journal, unpack(ARGV, 6, columns - 1))
bytes = redis.call('HINCRBY', state, 'bytes', bytes)
if blobs > columns then redis.call('HSET', state, unpack(ARGV, columns, blobs - 1)) end
local keepSeconds = tonumber(ARGV[4])
if keepSeconds > 0 then
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, keepSeconds) end
end
return {'ok', tostring(bytes)}
`;

/**
 * Puts a request to cancel into the journal, or stores it for a run that may come. A command that was applied once is not applied
 * again after a retry of the run.
 * KEYS state, journal, blobs, cancels · ARGV caller, entry, command or '', keepSeconds, 1 when it may be stored or 0
 */
export const CANCEL = `${ESSENTIAL}${MAY_CONTROL}${WEIGH}${WAKE}
local state, cancels = KEYS[1], KEYS[4]
local caller, entry, command = ARGV[1], ARGV[2], ARGV[3]
local run = redis.call('HMGET', state, 'digest', 'status', 'requester', 'cancel', 'wakeSeq')
if not run[1] then
  if ARGV[5] == '0' then return {'absent'} end
  if redis.call('HSETNX', cancels, caller, entry) == 1 and command ~= '' then
    redis.call('HSET', cancels, caller .. ' command', command)
  end
  redis.call('EXPIRE', cancels, ARGV[4])
  return {'remembered'}
end
if not mayControl(caller, run[3]) then return {'not_allowed'} end
if run[2] ~= 'running' and run[2] ~= 'waiting' then return {'ended'} end
if run[4] then return {'requested', run[5] or '0'} end
if command ~= '' and redis.call('HSETNX', state, 'control:' .. command, 1) == 0 then return {'ended'} end
redis.call('HSET', state, 'cancel', 1)
put(state, KEYS[2], entry)
return {'requested', wake(state, run[2], run[5])}
`;

/**
 * Opens an ended run again; its keys stay. Repeating a command changes nothing. A run whose journal was moved is not opened.
 * KEYS state, journal, blobs · ARGV caller, entry, command, time as text
 */
export const RETRY = `${MAY_CONTROL}${WEIGH}
local state = KEYS[1]
local run = redis.call('HMGET', state, 'digest', 'status', 'requester')
if not run[1] then return {'unknown'} end
if not mayControl(ARGV[1], run[3]) then return {'not_allowed'} end
if redis.call('HEXISTS', state, 'control:' .. ARGV[3]) == 1 then return {'ok'} end
if run[2] == 'waiting' then return {'running'} end
if run[2] == 'running' or run[2] == 'succeeded' then return {run[2]} end
if redis.call('HEXISTS', state, 'archive') == 1 then return {'archived'} end
for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
redis.call('HDEL', state, 'cancel')
redis.call('HSET', state, 'control:' .. ARGV[3], 1, 'status', 'running', 'heldUntil', 0,
  'stalled', 0, 'rests', 0, 'updatedAt', ARGV[4])
put(state, KEYS[2], ARGV[2])
return {'ok'}
`;

/**
 * Deletes the journal of an ended run that is stored in the archive, with the texts that are stored there, and replaces its columns, unless the run has changed
 * since they were read. The state is written anew because Redis stores a hash that once had a long value without packing it, whatever is deleted from it.
 * KEYS state, journal, blobs · ARGV number of entries, epoch, published, time after which nothing is deleted, number of texts, digests of texts…, columns…
 */
export const ARCHIVE = `${ESSENTIAL}${NOW}
local state, journal, blobs = KEYS[1], KEYS[2], KEYS[3]
if now > tonumber(ARGV[4]) then return {'late'} end
local run = redis.call('HMGET', state, 'status', 'epoch', 'published')
if not run[1] or run[1] == 'running' or run[1] == 'waiting' then return {'changed'} end
if (run[2] or '') ~= ARGV[2] or (run[3] or '') ~= ARGV[3] then return {'changed'} end
if redis.call('LLEN', journal) ~= tonumber(ARGV[1]) then return {'changed'} end
local left = redis.call('PTTL', state)
local columns = 6 + tonumber(ARGV[5])
for i = 6, columns - 1 do redis.call('HDEL', blobs, ARGV[i]) end
redis.call('DEL', state, journal)
redis.call('HSET', state, unpack(ARGV, columns))
if left > 0 then redis.call('PEXPIRE', state, left) end
return {'ok', tostring(left)}
`;

/**
 * Puts the journal and the columns of an ended run back, which expire with the run.
 * KEYS state, journal, blobs · ARGV archive, number of entries, number of columns, entries…, columns…, digest and content of texts…
 */
export const RESTORE = `${WEIGH}
local state, journal, blobs = KEYS[1], KEYS[2], KEYS[3]
if redis.call('HGET', state, 'archive') ~= ARGV[1] then return {'changed'} end
local columns = 4 + tonumber(ARGV[2])
local texts = columns + tonumber(ARGV[3])
redis.call('HDEL', state, 'archive', 'packed')
if texts > columns then redis.call('HSET', state, unpack(ARGV, columns, texts - 1)) end
redis.call('HSET', state, 'bytes', ${RUN_BYTES} + keep(blobs, texts))
for i = 4, columns - 1 do put(state, journal, ARGV[i]) end
local left = redis.call('PTTL', state)
if left > 0 then
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, left) end
end
return {'ok'}
`;

/**
 * Deletes an ended run. What is left are the facts that are needed to delete its journal in the archive, its large texts and its events, and the fact that it was deleted,
 * for as long as the run would have been stored; at least for the time given. Returns that time.
 * KEYS state, journal, blobs, deleted · ARGV caller, least time in ms, prefix of references to large texts
 */
export const DELETE = `${ESSENTIAL}${MAY_CONTROL}
local state, blobs, deleted = KEYS[1], KEYS[3], KEYS[4]
local run = redis.call('HMGET', state, 'digest', 'status', 'requester', 'archive')
if not run[1] then
  local requester = redis.call('HGET', deleted, 'requester')
  return {requester and mayControl(ARGV[1], requester) and 'repeated' or 'absent'}
end
if not mayControl(ARGV[1], run[3]) then return {'absent'} end
if run[2] == 'running' or run[2] == 'waiting' then return {'not_ended', run[2]} end
local keepMs = math.max(redis.call('PTTL', state), tonumber(ARGV[2]))
redis.call('HSET', deleted, 'requester', run[3], 'open', 1)
if run[4] then redis.call('HSET', deleted, 'archive', run[4]) end
for _, field in ipairs(redis.call('HKEYS', blobs)) do
  if string.sub(field, 1, #ARGV[3]) == ARGV[3] then
    redis.call('HSET', deleted, field, redis.call('HGET', blobs, field))
  end
end
redis.call('PEXPIRE', deleted, keepMs)
redis.call('DEL', state, KEYS[2], blobs)
return {'deleted', tostring(keepMs)}
`;

/**
 * Puts an entry of another writer into the journal of a run that has not ended, and wakes the run when it waits. An expected entry
 * is accepted once; so is a command.
 * KEYS state, journal, blobs · ARGV entry, caller or '' (anyone), the expected call or child or '', command or '', digest and
 * content of blobs…
 */
export const APPEND_BY_OTHERS = `${ESSENTIAL}${MAY_CONTROL}${WEIGH}${WAKE}
local state = KEYS[1]
local entry, caller, expected, command = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local run = redis.call('HMGET', state, 'digest', 'status', 'requester', 'cancel', 'wakeSeq')
if not run[1] then return {'unknown', '0'} end
if caller ~= '' and not mayControl(caller, run[3]) then return {'not_allowed', '0'} end
if command ~= '' and redis.call('HEXISTS', state, 'control:' .. command) == 1 then
  return {'known', run[5] or '0'}
end
if run[4] or (run[2] ~= 'running' and run[2] ~= 'waiting') then return {'ended', '0'} end
if expected ~= '' and redis.call('HDEL', state, 'open:' .. expected) == 0 then
  return {'gone', run[5] or '0'}
end
if command ~= '' then redis.call('HSET', state, 'control:' .. command, 1) end
put(state, KEYS[2], entry, keep(KEYS[3], 5))
return {'taken', wake(state, run[2], run[5])}
`;

/**
 * Gives up a run whose journal cannot be read: it is no longer worked on, and stays stored. Returns the run that it works for, or
 * ''.
 * KEYS state, journal, blobs · ARGV epoch, failure, time as text, keepSeconds
 */
export const BURY = `${ESSENTIAL}${FENCE}
local status = redis.call('HGET', KEYS[1], 'status')
local parent = redis.call('HGET', KEYS[1], 'parent') or ''
if status ~= 'running' and status ~= 'waiting' then return {'ok', parent} end
redis.call('HSET', KEYS[1], 'status', 'dead', 'failure', ARGV[2], 'updatedAt', ARGV[3])
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[4]) end
return {'ok', parent}
`;

/** Renews the hold, and returns whether the run is to be cancelled. KEYS state · ARGV epoch, holdMs */
export const RENEW = `${ESSENTIAL}${FENCE}${NOW}
if redis.call('HGET', KEYS[1], 'status') ~= 'running' then return {'ok'} end
redis.call('HSET', KEYS[1], 'heldUntil', now + tonumber(ARGV[2]))
if redis.call('HEXISTS', KEYS[1], 'cancel') == 1 then return {'cancelled'} end
return {'ok'}
`;

/** Notes that the first n events are in the stream; never decreases. KEYS state · ARGV epoch, n */
export const MARK_PUBLISHED = `${ESSENTIAL}${FENCE}
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], 'published') or 0) then
  redis.call('HSET', KEYS[1], 'published', ARGV[2])
end
return {'ok'}
`;

/**
 * Releases the run: any runner may claim it at once, and the attempt does not count against it. The sweeper skips it until its
 * rest is over; it is then woken by another message than the one before.
 * KEYS state · ARGV epoch, ms of rest, 1 when it counts as one or 0, the reason for suspending it or ''
 */
export const RELEASE = `${ESSENTIAL}${FENCE}${NOW}
redis.call('HSET', KEYS[1], 'heldUntil', 0, 'restsUntil', now + tonumber(ARGV[2]))
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'suspended', ARGV[4]) end
redis.call('HINCRBY', KEYS[1], 'wakeSeq', 1)
redis.call('HINCRBY', KEYS[1], 'rests', ARGV[3])
if tonumber(redis.call('HGET', KEYS[1], 'stalled') or 0) > 0 then
  redis.call('HINCRBY', KEYS[1], 'stalled', -1)
end
return {'ok', redis.call('HGET', KEYS[1], 'status')}
`;
