import { createHash, randomUUID } from "node:crypto";
import { ContentBlock, ResultMeta, ValueProblem } from "@switchyard/contracts/mcp-broker/mcp";
import { ToolRef } from "@switchyard/contracts/tool-names";
import { toJson } from "@switchyard/contracts/well-formed";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { knownWithoutRoom, type OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { clusterOf } from "@switchyard/service/redis-cluster";
import { z } from "zod";

/**
 * The records of calls with a `callId` (as `ownCallId` makes it), stored for a day: a claim from before it is sent, then its outcome. A
 * claim without an outcome means that it is unknown if the call happened.
 */
export interface CallStore {
  /** The record of a call, or null. Rejects with StoreError. */
  read(callId: string): Promise<CallRecord | null>;
  /**
   * Writes the claim unless the id has a record already, and returns that one. The run's epoch is checked in the same step: with an older
   * one than was seen nothing is claimed. Rejects with StoreError, and with `storage_full` when there is no record and no room for the
   * outcome.
   */
  claim(
    callId: string,
    call: CallIdentity,
    pickUp?: PickUp | null,
  ): Promise<Claim | CallRecord | Stale>;
  /** False when a higher epoch of the run was seen, by any provider on this Redis. Rejects with StoreError. */
  admit(pickUp: PickUp): Promise<boolean>;
  /**
   * Forbids a call that may be in flight to another process: when its owner comes to claim it within a minute, it is refused. Returns the
   * record that the id has already, or null. Rejects with StoreError.
   */
  forbid(callId: string, owner: CallOwner): Promise<CallRecord | null>;
}

/** The owner of a call: a client that may name the id is not necessarily one that may stop it. */
export interface CallOwner {
  readonly caller: string;
  /** The run token that the call carries. */
  readonly token: string | undefined;
}

export interface CallIdentity extends CallOwner {
  readonly fingerprint: string;
  readonly ref: ToolRef;
  /** The owner whose storage the outcome takes; undefined: it is not counted. */
  readonly storedFor?: string | undefined;
}

/** The pick-up of a run that a call belongs to: a runner that lost its run without noticing can do nothing more. */
export interface PickUp {
  readonly runId: string;
  readonly epoch: number;
}

/** Another runner has taken the run over. */
export interface Stale {
  readonly state: "stale";
}

/** The right to send the call. Exactly one of the two ends it; without either the outcome stays unknown. */
export interface Claim {
  readonly state: "new";
  finish(outcome: CallOutcome): Promise<void>;
  /** The call was provably not sent: the id is free again. */
  release(): Promise<void>;
}

export const CallResult = z.object({
  content: z.array(ContentBlock),
  structuredContent: z.unknown().optional(),
  _meta: ResultMeta.optional(),
  isError: z.boolean(),
  text: z.string(),
  durationMs: z.number(),
});
export type CallResult = z.infer<typeof CallResult>;

/** An end that a repeat must get again: a result, or a failure that the server answered with. */
export const CallOutcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("result"), result: CallResult }),
  z.object({ kind: z.literal("failed"), reason: z.string() }),
  /** The tool ran, and its structured result does not fit its output schema. */
  z.object({ kind: z.literal("invalid"), problems: z.array(ValueProblem), result: CallResult }),
  z.object({ kind: z.literal("too_large"), bytes: z.int(), limitBytes: z.int() }),
]);
export type CallOutcome = z.infer<typeof CallOutcome>;

const identity = { fingerprint: z.string(), ref: ToolRef };
const CallRecord = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("claimed"),
    claimId: z.string(),
    /** The process that has the call in progress; absent in claims of older ones. */
    holder: z.string().optional(),
    ...identity,
  }),
  z.object({ state: z.literal("done"), outcome: CallOutcome, ...identity }),
  /** Cancelled before a process began it. */
  z.object({ state: z.literal("cancelled"), owners: z.array(z.string()) }),
]);
export type CallRecord = z.infer<typeof CallRecord>;

const KEPT_SECONDS = 24 * 60 * 60;
/** The key of a record, and the claim that an outcome replaces. */
const RECORD_BYTES = 400;
/** Longer than a call waits for its server and its decision. */
const FORBIDDEN_SECONDS = 60;
const MOST_OWNERS = 9;
/** The interval at which a write is repeated until Redis confirms it. */
const RETRY_MS = 1_000;

/** Deletes the claim only while it still belongs to this call: after a day the id may belong to another call. */
const RELEASE = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`;

/**
 * Writes the highest epoch once and not for each call: every write goes to disk before the call may continue. It is stored for a day, the
 * shortest time for which a run is stored after its end: so nothing is left of a run whose id is used again, and a runner that lost its run
 * has no valid token for so long.
 */
const ADMIT = `
local function admit(key, epoch, kept)
  local seen = tonumber(redis.call('GET', key) or '-1')
  if epoch < seen then return false end
  if epoch > seen or redis.call('TTL', key) <= kept / 2 then
    redis.call('SET', key, epoch, 'EX', kept)
  end
  return true
end`;

const RAISE = `${ADMIT}
return admit(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])) and 1 or 0`;

/** The epoch and the id in one step; 0 for an epoch that is too low, else the record that the id has already. */
const CLAIM = `${ADMIT}
if not admit(KEYS[2], tonumber(ARGV[2]), tonumber(ARGV[3])) then return 0 end
return redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[3], 'NX', 'GET')`;

/** Changes a cancellation, or replaces it with a claim; returns the stored record when that is another one. */
const REPLACE = `${ESSENTIAL}
local found = redis.call("GET", KEYS[1])
if found and found ~= ARGV[1] then return found end
redis.call("SET", KEYS[1], ARGV[2], "EX", ARGV[3])
return false`;

/** A write that Redis has not confirmed. */
interface Owed {
  /** The record that it will write; null: none. */
  readonly record: CallRecord | null;
  readonly write: () => Promise<unknown>;
}

/**
 * `holder` is the name under which this process answers for its claims. A write that Redis did not confirm may have been executed or not.
 * It is repeated until Redis confirms it: without that, a claim whose answer was lost, or an outcome that was not stored, would make the
 * call's outcome unknown for a day.
 */
export function createCallStore(
  redis: Redis,
  holder: string,
  storage?: Pick<OwnerStorage, "admit" | "add">,
): CallStore {
  const keyOf = (callId: string): string => callKey(redis, callId);
  const debts = createDebts();
  const admitOwner = (owner: string | undefined, pickUp: PickUp | null) =>
    owner === undefined ? undefined : storage?.admit(owner, { isUnderWay: pickUp !== null });
  const count = (owner: string | undefined, text: string): void => {
    if (owner !== undefined)
      storage?.add(owner, Buffer.byteLength(text) + RECORD_BYTES, KEPT_SECONDS * 1_000);
  };

  const admit: CallStore["admit"] = async ({ runId, epoch }) =>
    (await fromRedis(redis.eval(RAISE, 1, epochKey(runId), epoch, KEPT_SECONDS))) === 1;

  const read: CallStore["read"] = async (callId) =>
    debts.of(callId)?.record ?? parseRecord(await fromRedis(redis.get(keyOf(callId))));

  return {
    read,
    async forbid(callId, owner) {
      const key = keyOf(callId);
      const text = cancelledText([ownerText(owner)]);
      const forbid = ["set", key, text, "EX", FORBIDDEN_SECONDS, "NX", "GET"] as const;
      const answer = await essentialWrite(redis, forbid);
      let found = typeof answer === "string" ? answer : null;
      const record = parseRecord(found);
      if (found === null || record?.state !== "cancelled") return record;
      // Another client that may name the id may have been here before.
      const own = cancelledText([...record.owners.slice(-MOST_OWNERS), ownerText(owner)]);
      found = await fromRedis(
        replace(redis, key, { found, text: own, seconds: FORBIDDEN_SECONDS }),
      );
      return parseRecord(found);
    },
    admit,
    async claim(callId, { fingerprint, ref, storedFor, ...owner }, pickUp = null) {
      const debt = debts.of(callId);
      if (debt !== undefined && debt.record !== null)
        return pickUp === null || (await admit(pickUp)) ? debt.record : STALE;
      if (debt !== undefined) await debts.pay(callId, debt);
      const known = await knownWithoutRoom(admitOwner(storedFor, pickUp), () => read(callId));
      if (known !== null) return pickUp === null || (await admit(pickUp)) ? known : STALE;
      const key = keyOf(callId);
      const text = textOf({ state: "claimed", claimId: randomUUID(), holder, fingerprint, ref });
      const release = { record: null, write: () => redis.eval(RELEASE, 1, key, text) };
      const claimed = await debts.orOwe(
        callId,
        () => claimOnce(redis, callId, text, pickUp),
        release,
      );
      if (claimed === 0) return STALE;
      let existing = claimed;
      const found = parseRecord(existing);
      if (existing !== null && found?.state === "cancelled") {
        if (found.owners.includes(ownerText(owner))) return found;
        const isTheirs = { found: existing, text, seconds: KEPT_SECONDS };
        existing = await debts.orOwe(callId, () => replace(redis, key, isTheirs), release);
      }
      const record = parseRecord(existing);
      if (record !== null) return record;
      return {
        state: "new",
        async finish(outcome) {
          const done = { state: "done", outcome, fingerprint, ref } as const;
          const outcomeText = textOf(done);
          count(storedFor, outcomeText);
          const write = () => essentialWrite(redis, ["set", key, outcomeText, "EX", KEPT_SECONDS]);
          await debts.orOwe(callId, write, { record: done, write });
        },
        release: () => debts.orOwe(callId, release.write, release).then(() => undefined),
      };
    },
  };
}

/** The writes that Redis did not confirm, by call; each is made again until it is confirmed. */
function createDebts() {
  const owed = new Map<string, Owed>();
  let retryTimer: NodeJS.Timeout | null = null;

  const pay = async (callId: string, debt: Owed): Promise<void> => {
    await fromRedis(debt.write());
    if (owed.get(callId) === debt) owed.delete(callId);
  };
  const payAll = async (): Promise<void> => {
    for (const [callId, debt] of owed) await pay(callId, debt);
  };
  const payLater = (): void => {
    retryTimer ??= setTimeout(() => {
      payAll()
        .catch(() => undefined) // Redis is still away
        .finally(() => {
          retryTimer = null;
          if (owed.size > 0) payLater();
        });
    }, RETRY_MS).unref();
  };
  const orOwe = async <T>(callId: string, write: () => Promise<T>, debt: Owed): Promise<T> => {
    try {
      return await fromRedis(write());
    } catch (error) {
      owed.set(callId, debt);
      payLater();
      throw error;
    }
  };

  return { of: (callId: string) => owed.get(callId), pay, orOwe };
}

const STALE: Stale = { state: "stale" };

// oxlint-disable-next-line max-params -- where, what, its text and of which pick-up
async function claimOnce(
  redis: Redis,
  callId: string,
  text: string,
  pickUp: PickUp | null,
): Promise<string | null | 0> {
  const key = callKey(redis, callId);
  const claim = () => redis.set(key, text, "EX", KEPT_SECONDS, "NX", "GET");
  if (pickUp === null) return claim();
  const { runId, epoch } = pickUp;
  // The runner's own calls are stored beside their run. A call for a run with an id of its own needs two servers of the cluster.
  if (clusterOf(redis) !== null && runIn(callId) !== runId) {
    const isAdmitted = await redis.eval(RAISE, 1, epochKey(runId), epoch, KEPT_SECONDS);
    return isAdmitted === 1 ? claim() : 0;
  }
  const found = await redis.eval(CLAIM, 2, key, epochKey(runId), text, epoch, KEPT_SECONDS);
  return typeof found === "string" || found === 0 ? found : null;
}

async function replace(
  redis: Redis,
  key: string,
  change: { readonly found: string | null; readonly text: string; readonly seconds: number },
): Promise<string | null> {
  const { found, text, seconds } = change;
  const there = await redis.eval(REPLACE, 1, key, found ?? "", text, seconds);
  return typeof there === "string" ? there : null;
}

function textOf(record: CallRecord): string {
  return toJson(record);
}

function cancelledText(owners: readonly string[]): string {
  return textOf({ state: "cancelled", owners: [...owners] });
}

/** The token itself is a secret. */
function ownerText({ caller, token = "" }: CallOwner): string {
  return createHash("sha256")
    .update(JSON.stringify([caller, token]))
    .digest("hex");
}

/** In a cluster the calls of a run are in its hash slot, because a script has the keys of one slot (decision 063). */
function callKey(redis: Redis, callId: string): string {
  if (clusterOf(redis) === null) return `yard:call:{${callId}}`;
  const run = runIn(callId);
  return `yard:call:{${run}}${callId.slice(run.length)}`;
}

/** The run that the id of one of the runner's calls begins with. */
function runIn(callId: string): string {
  return callId.split(":", 1)[0] ?? callId;
}

function epochKey(runId: string): string {
  return `yard:run:{${runId}}:tool-epoch`;
}

function parseRecord(text: string | null): CallRecord | null {
  return text === null ? null : CallRecord.parse(JSON.parse(text));
}
