import { ESSENTIAL } from "@switchyard/service/essential-write";

/**
 * The transitions of an approval, each one script on one key. Every script but CREATE first checks whether the time is over, so
 * an approval is never decided or consumed late, however late the timer message arrives. Each script is essential: Redis executes
 * it above its maxmemory, too. They return nil when there is no approval, otherwise what changed and all fields.
 */

/** An ended approval is shown for a week. */
export const KEPT_AFTER_END_MS = 7 * 24 * 60 * 60 * 1_000;

const BEGIN = `${ESSENTIAL}
local key = KEYS[1]
local now = tonumber(ARGV[1])
local state = redis.call("HGET", key, "state")
if not state then return nil end
local function answer(change) return { change, redis.call("HGETALL", key) } end
if state == "pending" or state == "approved" then
  if now >= tonumber(redis.call("HGET", key, "expiresAtMs")) then
    redis.call("HSET", key, "state", "expired")
    return answer("expired")
  end
end
`;

/** ARGV: when the record may be deleted, then fields and values. A void approval is replaced by the new one of the same call. */
export const CREATE = `
local key = KEYS[1]
local isNew = 0
if redis.call("HGET", key, "void") then redis.call("DEL", key) end
if redis.call("EXISTS", key) == 0 then
  redis.call("HSET", key, unpack(ARGV, 2))
  redis.call("PEXPIREAT", key, ARGV[1])
  isNew = 1
end
return { isNew, redis.call("HGETALL", key) }
`;

/** ARGV: now, state, decision, end of the time to consume it or "". */
export const DECIDE = `${BEGIN}
if state ~= "pending" then return answer("none") end
redis.call("HSET", key, "state", ARGV[2], "decision", ARGV[3])
if ARGV[4] ~= "" then
  redis.call("HSET", key, "expiresAtMs", ARGV[4])
  redis.call("PEXPIREAT", key, tonumber(ARGV[4]) + ${KEPT_AFTER_END_MS})
end
return answer("done")
`;

/**
 * Adds one person's vote to those that the caller has read: one of another replica in between changes nothing, and the caller counts
 * again. ARGV: now, votes as read or "", votes, state, decision or "", end of the time to consume it or "", changed arguments or "".
 */
export const VOTE = `${BEGIN}
if state ~= "pending" then return answer("none") end
if (redis.call("HGET", key, "votes") or "") ~= ARGV[2] then return answer("changed") end
redis.call("HSET", key, "votes", ARGV[3])
if ARGV[4] == "approved" then
  redis.call("HSET", key, "state", "approved", "decision", ARGV[5], "expiresAtMs", ARGV[6])
  if ARGV[7] ~= "" then redis.call("HSET", key, "edit", ARGV[7]) end
  redis.call("PEXPIREAT", key, tonumber(ARGV[6]) + ${KEPT_AFTER_END_MS})
end
return answer("done")
`;

/** ARGV: now, escalations that were published before. */
export const ESCALATE = `${BEGIN}
if state ~= "pending" then return answer("none") end
if (redis.call("HGET", key, "escalated") or "0") ~= ARGV[2] then return answer("none") end
redis.call("HINCRBY", key, "escalated", 1)
return answer("done")
`;

/** ARGV: now, decision. Also from "approved", because its rules are no longer in force. */
export const VOID = `${BEGIN}
if state ~= "pending" and state ~= "approved" then return answer("none") end
redis.call("HSET", key, "state", "cancelled", "decision", ARGV[2], "void", "1")
return answer("done")
`;

/** ARGV: now. */
export const EXPIRE = `${BEGIN}
return answer("none")
`;

/** ARGV: now, attempt. A repeat of the attempt is answered as the first one, whose answer the provider did not get. */
export const CONSUME = `${BEGIN}
if state == "consumed" and redis.call("HGET", key, "attempt") == ARGV[2] and redis.call("HGET", key, "execution") == "unknown" then return answer("done") end
if state ~= "approved" then return answer("none") end
redis.call("HSET", key, "state", "consumed", "attempt", ARGV[2], "consumedAtMs", ARGV[1], "execution", "unknown")
return answer("done")
`;

/** ARGV: now, attempt, outcome, digest of the result or "". */
export const SETTLE = `${BEGIN}
if state ~= "consumed" or redis.call("HGET", key, "attempt") ~= ARGV[2] then return answer("none") end
if redis.call("HGET", key, "execution") ~= "unknown" then return answer("none") end
if ARGV[3] == "not_sent" then
  redis.call("HSET", key, "state", "approved")
  redis.call("HDEL", key, "attempt", "consumedAtMs", "execution")
else
  redis.call("HSET", key, "execution", "executed")
  if ARGV[4] ~= "" then redis.call("HSET", key, "resultDigest", ARGV[4]) end
end
return answer("done")
`;
