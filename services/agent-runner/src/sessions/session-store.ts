import { randomUUID } from "node:crypto";
import { toJson } from "@switchyard/contracts/well-formed";
import type { Holding, OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { SessionMessage } from "@switchyard/contracts/agent-runner/sessions";
import { defineScripts } from "../journal/redis-scripts.ts";
import { NO_RECORD, SessionCommand, SessionRecord, type SessionState } from "./session-record.ts";
import { isAdmin } from "../journal/run-access.ts";
import type { IndexEntry } from "./session-index.ts";
import { slotOf, slotOfId } from "./session-slot.ts";

/**
 * The sessions in Redis. The pure functions beside this file decide about each change, and the store writes it only if the
 * record has not changed in between; else it lets them decide anew.
 */
export interface SessionStore {
  read(slot: string): Promise<StoredSession>;
  /**
   * Calls `decide` with the stored session and writes the record that it returns; resolves with its result after the write.
   * Nothing is written when the record is the same object.
   */
  change<T>(slot: string, decide: Decide<T>): Promise<T>;
  /** The last `count` lines of the history; without a count all of them. */
  history(slot: string, count?: number): Promise<SessionMessage[]>;
  /** The commands of these runs, without those that are gone. */
  commands(slot: string, runIds: readonly string[]): Promise<SessionCommand[]>;
}

export interface StoredSession {
  readonly record: SessionRecord;
  /** The number of lines in the history, of dropped lines, and the size of the stored ones. */
  readonly messages: number;
  readonly dropped: number;
  readonly bytes: number;
}

export type Decide<T> = (stored: StoredSession) => Change<T> | Promise<Change<T>>;

export interface Change<T> {
  readonly record: SessionRecord;
  readonly result: T;
  /** Lines for the history, and whether the earlier ones are deleted first. */
  readonly lines?: readonly SessionMessage[];
  readonly forgets?: boolean;
  /** A command to store; the commands of runs that are no longer in the session are deleted. */
  readonly keep?: SessionCommand;
}

/** The size of its keys and its entries in lists; measured with `MEMORY USAGE`. */
const SESSION_BYTES = 900;
/** No session is changed so often at once; reaching this number is a fault and not a limit. */
const MAX_ATTEMPTS = 200;

export function openSessionStore(
  redis: Redis,
  {
    storage,
    ...limits
  }: {
    readonly maxMessages: number;
    readonly maxBytes: number;
    /** Counts the bytes of sessions for their owners; if left out, nothing is counted. */
    readonly storage?: Pick<OwnerStorage, "set"> | undefined;
  },
): SessionStore {
  const run = defineScripts(redis, { yardSessionRead: READ, yardSessionWrite: WRITE });

  const load = async (slot: string) => {
    const [rev = "", json = "", messages, dropped, bytes] = await run(
      "yardSessionRead",
      keysOf(slot),
      [],
    );
    const record = json === "" ? NO_RECORD : SessionRecord.parse(JSON.parse(json));
    const counts = { messages: Number(messages), dropped: Number(dropped), bytes: Number(bytes) };
    return { rev, stored: { record, ...counts } };
  };

  const write = async (
    slot: string,
    rev: string,
    change: Change<unknown> & { before: SessionRecord },
  ) => {
    const { record, before, lines = [], forgets = false, keep } = change;
    const isOver = record.session === null && record.outbox.length === 0;
    const placed = new Set(placedRuns(record));
    const gone = placedRuns(before).filter((runId) => !placed.has(runId));
    const [answer, bytes] = await run("yardSessionWrite", keysOf(slot), [
      rev,
      randomUUID(),
      isOver ? "" : toJson(record),
      forgets || record.session === null ? 1 : 0,
      limits.maxMessages,
      limits.maxBytes,
      keep?.runId ?? "",
      keep === undefined ? "" : toJson(keep),
      gone.length,
      ...gone,
      ...lines.map((line) => toJson(line)),
    ]);
    if (answer !== "ok") return false;
    const owner = (record.session ?? before.session)?.owner;
    // A session that has ended has unpublished events for a moment.
    const held = record.session === null ? 0 : Number(bytes);
    if (owner !== undefined) storage?.set(owner, sessionThing(slot), { bytes: held, ends: null });
    return true;
  };

  return {
    read: async (slot) => (await load(slot)).stored,

    async change(slot, decide) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const { rev, stored } = await load(slot);
        const change = await decide(stored);
        if (change.record === stored.record) return change.result;
        if (await write(slot, rev, { ...change, before: stored.record })) return change.result;
      }
      throw new Error(`session ${slot} was changed by others ${MAX_ATTEMPTS} times in a row`);
    },

    async history(slot, count) {
      const first = count === undefined ? 0 : -count;
      if (count === 0) return [];
      const stored = await fromRedis(redis.lrange(keysOf(slot)[1], first, -1));
      return stored.map((json) => SessionMessage.parse(JSON.parse(json)));
    },

    async commands(slot, runIds) {
      if (runIds.length === 0) return [];
      const stored = await fromRedis(redis.hmget(keysOf(slot)[2], ...runIds));
      return stored
        .filter((json) => json !== null)
        .map((json) => SessionCommand.parse(JSON.parse(json)));
    },
  };
}

function placedRuns({ session }: SessionRecord): string[] {
  if (session === null) return [];
  const { active, queue } = session;
  return [...(active === null ? [] : [active.runId]), ...queue.map(({ runId }) => runId)];
}

const SESSION = "session:";

/** The name under which a session is counted for its owner, see libs/service/src/owner-storage.ts. */
function sessionThing(slot: string): string {
  return SESSION + slot;
}

/** The present size of a session in Redis. Null: it is deleted, or it is a thing of another kind. Rejects with StoreError. */
export async function sessionHolding(redis: Redis, thing: string): Promise<Holding | null> {
  if (!thing.startsWith(SESSION)) return null;
  const [state] = keysOf(thing.slice(SESSION.length));
  const [rev, record, bytes, kept] = await fromRedis(
    redis.hmget(state, "rev", "record", "bytes", "kept"),
  );
  if (!rev) return null;
  const texts = Number(bytes ?? 0) + Number(kept ?? 0);
  return { bytes: (record ?? "").length + texts + SESSION_BYTES, ends: null };
}

/** State (hash), history (list) and commands (hash) of a session are in one hash slot. */
function keysOf(slot: string): [string, string, string] {
  return [
    `yard:session:{${slot}}:state`,
    `yard:session:{${slot}}:history`,
    `yard:session:{${slot}}:commands`,
  ];
}

/** KEYS state, history · returns the revision, the record, and the counts of the history. */
const READ = `
local state = redis.call('HMGET', KEYS[1], 'rev', 'record', 'dropped', 'bytes')
return {state[1] or '', state[2] or '', tostring(redis.call('LLEN', KEYS[2])), state[3] or '0', state[4] or '0'}
`;

/**
 * Writes a record when it has not been written since it was read. A revision is a name and not a number, so that of a session
 * which was deleted is never that of a later one. The oldest lines of the history are dropped when it is too long or too large;
 * the newest one stays. Returns the approximate size of the session after the write, in bytes. KEYS state, history, commands ·
 * ARGV revision, new revision, record or '' (nothing is left), 1 to forget the history, most lines, most bytes, run of a
 * command to keep or '', the command, number of runs whose commands go, those runs…, lines…
 */
const WRITE = `${ESSENTIAL}
local function size(state)
  local sizes = redis.call('HMGET', state, 'bytes', 'kept')
  return tostring(#ARGV[3] + (tonumber(sizes[1]) or 0) + (tonumber(sizes[2]) or 0) + ${SESSION_BYTES})
end
local state, history, commands = KEYS[1], KEYS[2], KEYS[3]
if (redis.call('HGET', state, 'rev') or '') ~= ARGV[1] then return {'stale'} end
if ARGV[3] == '' then
  redis.call('DEL', state, history, commands)
  return {'ok', '0'}
end
if ARGV[4] == '1' then
  redis.call('DEL', history)
  redis.call('HDEL', state, 'dropped', 'bytes')
end
redis.call('HSET', state, 'rev', ARGV[2], 'record', ARGV[3])
local kept = 0
if ARGV[7] ~= '' then
  kept = #ARGV[8] - redis.call('HSTRLEN', commands, ARGV[7])
  redis.call('HSET', commands, ARGV[7], ARGV[8])
end
local last = 9 + tonumber(ARGV[9])
for index = 10, last do
  kept = kept - redis.call('HSTRLEN', commands, ARGV[index])
  redis.call('HDEL', commands, ARGV[index])
end
if kept ~= 0 then redis.call('HINCRBY', state, 'kept', kept) end
if #ARGV == last then return {'ok', size(state)} end
local bytes = tonumber(redis.call('HGET', state, 'bytes') or 0)
local dropped = tonumber(redis.call('HGET', state, 'dropped') or 0)
for index = last + 1, #ARGV do
  redis.call('RPUSH', history, ARGV[index])
  bytes = bytes + #ARGV[index]
end
local length = redis.call('LLEN', history)
local first = 0
while length - first > 1 and (length - first > tonumber(ARGV[5]) or bytes > tonumber(ARGV[6])) do
  bytes = bytes - #redis.call('LINDEX', history, first)
  first = first + 1
end
if first > 0 then redis.call('LTRIM', history, first, -1) end
redis.call('HSET', state, 'bytes', bytes, 'dropped', dropped + first)
return {'ok', size(state)}
`;

/** A session that the caller may use. */
export interface FoundSession {
  readonly entry: IndexEntry;
  readonly stored: StoredSession;
  readonly session: SessionState;
}

/**
 * Finds a session by its key or id for a caller. Null when there is none, and for a session of another owner: a caller who may
 * not use it cannot distinguish the two.
 */
export async function findSession(
  store: Pick<SessionStore, "read">,
  query: { readonly ref: string; readonly caller: string; readonly owner?: string | undefined },
): Promise<FoundSession | null> {
  const { ref, caller, owner = caller } = query;
  const named = slotOfId(ref);
  const slot = named ?? slotOf(owner, ref);
  const stored = await store.read(slot);
  const { session } = stored.record;
  if (session === null || !mayUse(session, caller)) return null;
  if (named !== null && session.sessionId !== ref) return null;
  return { entry: { slot, owner: session.owner }, stored, session };
}

function mayUse({ owner }: SessionState, caller: string): boolean {
  return owner === caller || isAdmin(caller);
}
